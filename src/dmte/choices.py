"""Words that a caller chooses among, by themselves: help shows them without loading torch."""

from typing import Literal

Half = Literal["both", "text", "structure"]
"""What of the vectors is compared."""
Way = Literal["tsne", "pca", "umap"]
"""How vectors get their places on a map."""
