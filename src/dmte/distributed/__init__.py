"""Training in several processes, each with some of the columns."""
