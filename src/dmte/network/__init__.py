"""The textual network G = (V, E, T): its class, its file formats, and splits of its edges.

The public names are listed in ``__init__.pyi`` and imported on first use, since torch takes seconds
to load.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
