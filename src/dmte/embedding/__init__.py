"""What every method returns, and what a method is."""
