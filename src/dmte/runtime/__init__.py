"""What the library needs of the process it runs in: progress, seeds, memory, optional packages."""
