"""Model and checkpoint folders that a stranger has altered, with right checksums."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dmte.storage.codec import encode_json


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest and update its SHA-256, as a newer version or a forger would."""
    content = json.loads((folder / "manifest.json").read_bytes())
    del content["sha256"]
    change(content)
    content["sha256"] = hashlib.sha256(encode_json(content)).hexdigest()
    (folder / "manifest.json").write_bytes(encode_json(content))
