"""Names of the formats that vectors are exported in; help shows them, so torch is not imported."""

from collections.abc import Mapping
from types import MappingProxyType

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {".parquet": "parquet", ".npz": "npz", ".csv": "csv", ".txt": "word2vec"}
)
"""The format that each suffix of a file selects."""

PROJECTOR = "projector"
"""Format of the TensorBoard projector: a folder with two files."""
