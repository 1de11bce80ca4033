"""Using a trained model: missing links, explanations, labels."""
