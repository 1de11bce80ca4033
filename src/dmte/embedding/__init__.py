"""Embeddings, which every method returns, and the protocols of methods."""
