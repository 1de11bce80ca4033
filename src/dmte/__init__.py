"""Diffusion maps for textual network embedding: one vector per vertex, from text and links.

>>> import dmte
>>> network = dmte.read_network("concepts")
>>> embedding = dmte.Dmte(dim=128).fit(network).embedding_
>>> embedding
Embedding(432 vertices × 128, of which 128 from text)
>>> neighbors = embedding.most_similar("b-tree", k=5)

Public names are listed in ``__init__.pyi`` and imported at first use, since torch takes seconds to
load.
"""

import os

import lazy_loader

# Huge pages for tables: torch reads this once, when it is imported. A table of 48 MB is filled in
# 5 ms instead of 32, so that freed memory can be returned to the system.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
