"""Pictures: maps of vectors, training curves, result curves."""
