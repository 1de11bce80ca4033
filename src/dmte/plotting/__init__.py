"""Figures: maps of vectors, curves of trainings and results."""
