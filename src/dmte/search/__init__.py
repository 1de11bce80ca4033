"""Nearest neighbors of vectors, exact and approximate."""
