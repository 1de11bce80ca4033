"""Services of the running process: progress, seeds, memory, optional packages."""
