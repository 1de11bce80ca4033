"""The textual network G = (V, E, T): what it is, where it comes from, how its edges are split.

Its names are listed in ``__init__.pyi`` and imported when they are first used: help needs none, and
torch takes seconds to load.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
