"""P and Σ λ_h P^h X (Definitions 2 and 4)."""
