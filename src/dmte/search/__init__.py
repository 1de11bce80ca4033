"""Nearest neighbors of vectors, exact and approximate; imports no torch."""
