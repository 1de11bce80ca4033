"""CANE: context-aware network embedding (Tu et al. 2017)."""
