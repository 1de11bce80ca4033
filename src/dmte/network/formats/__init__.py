"""Reading and writing networks: one module per file format, one registry in read.py."""
