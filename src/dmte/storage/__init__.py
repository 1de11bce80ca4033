"""Files that survive a crash: a folder of parts, append-only journals, locks, atomic files."""
