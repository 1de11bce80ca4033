"""Using a trained model: suggest links, explain scores, classify vertices."""
