"""Model and checkpoint folders that a stranger has altered, with right checksums.

``mutants`` draws alterations of the parts of a folder: values of JSON that are missing, of another
type or out of range, headers of tensors that do not fit their data, numbers out of range, parts
that are missing or exchanged. ``write_folder`` writes a folder with the checksums of any parts, and
``alter_manifest`` alters its manifest. The same seed gives the same mutants.
"""

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dmte.errors import StorageError
from dmte.storage.codec import encode_json
from dmte.storage.manifest import MANIFEST, Manifest, describe

Parts = Mapping[str, bytes]

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**40, 2**63, -(2**63), 10**400),
    *(0.5, -0.0, 1e308, math.nan, math.inf, -math.inf),
    *("", "x", "0", "\ud800", "../x", "a\nb\x1b[2J", "y" * 100_000),
    *([], {}, [[]], [None], {"": None}, [0] * 5000, [1.0, "x"]),
)
"""Values of JSON that are seldom the right ones."""
DIMENSIONS = (-1, 0, 1, 2, 3, 7, 2**31, 2**40, 2**62, 2**64, True, 2.0, "3", None, [4])
TYPES = (
    "F64",
    "F32",
    "F16",
    "BF16",
    "I64",
    "I32",
    "I16",
    "I8",
    "U8",
    "BOOL",
    "F8_E4M3",
    "",
    None,
    3,
)
BYTES: tuple[bytes, ...] = (
    *(b"", b"\0", b"{}", b"[]", b"null", b"3", b'"x"', b"\xff\xfe{}", b"\xef\xbb\xbf{}"),
    *(b"[" * 200_000, b'{"a":' * 100_000, b"[" * 900 + b"]" * 900, b"9" * 5000, b" " * 100_000),
    *(b"\x80\x02}q\x00.", bytes(range(256)) * 8),
)
"""Contents of a part that are seldom the right ones; one of them is a pickle."""


def write_folder(folder: Path, parts: Parts) -> None:
    """Write a folder of these parts with right checksums, without waiting for the disk."""
    folder.mkdir(exist_ok=True)
    listed = {name: describe(name, data) for name, data in parts.items()}
    for name, part in listed.items():
        if not (folder / part.file).exists():
            (folder / part.file).write_bytes(parts[name])
    (folder / MANIFEST).write_bytes(Manifest(listed).to_bytes())


def rewrite_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest and update its SHA-256, as a newer version or a forger would."""
    content = json.loads((folder / MANIFEST).read_bytes())
    del content["sha256"]
    change(content)
    content["sha256"] = hashlib.sha256(encode_json(content)).hexdigest()
    (folder / MANIFEST).write_bytes(encode_json(content))


def mutants(parts: Parts, seed: int, count: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Yield altered copies of the parts, each with a description."""
    for number in range(count):
        draw = random.Random(f"{seed}/{number}")
        altered = dict(parts)
        alterations = draw.choices(ALTERATIONS, k=draw.choice((1, 1, 1, 2, 3)))
        words = [alter(altered, draw) for alter in alterations]
        yield f"{number}: {', then '.join(words)}", altered


def alter_manifest(folder: Path, draw: random.Random) -> str:
    """Alter a value of the manifest of a folder."""
    words = ""

    def change(content: dict[str, Any]) -> None:
        nonlocal words
        holder = {"": content}
        inner, key, place = _place(holder, draw)
        if inner is not holder:
            words = f"{place}: {draw.choice(_VALUE_CHANGES)(inner, key, draw)}"

    with suppress(StorageError):  # The value has no form in JSON.
        rewrite_manifest(folder, change)
    return f"{MANIFEST}{words}"


def alter_json(parts: dict[str, bytes], draw: random.Random) -> str:
    """Alter a value of a part in JSON."""
    name = draw.choice([name for name in sorted(parts) if name.endswith(".json")] or [""])
    try:
        holder = {"": json.loads(parts[name])}
    except (KeyError, ValueError, RecursionError):
        return f"{name} left alone"
    inner, key, place = _place(holder, draw)
    words = draw.choice(_VALUE_CHANGES)(inner, key, draw)
    parts[name] = json.dumps(holder.get("")).encode()
    return f"{name}{place}: {words}"


def _place(holder: Any, draw: random.Random) -> tuple[Any, Any, str]:
    """Return an object or a list within the holder, one of its keys, and the place in words."""
    inner, key, place = holder, "", ""
    while isinstance(inner[key], dict | list) and inner[key] and draw.random() < 0.8:
        inner = inner[key]
        keys = list(inner) if isinstance(inner, dict) else range(len(inner))
        key = draw.choice(keys)
        place += f".{key}"[:40]
    return inner, key, place


def _replace(inner: Any, key: Any, draw: random.Random) -> str:
    inner[key] = draw.choice(VALUES)
    return f"is {str(inner[key])[:40]!r}"


def _remove(inner: Any, key: Any, _: random.Random) -> str:
    del inner[key]
    return "removed"


def _repeat(inner: Any, key: Any, draw: random.Random) -> str:
    if isinstance(inner, list):
        inner.insert(draw.randrange(len(inner) + 1), inner[key])
    else:
        inner[draw.choice(["extra", "ids", "dim", str(key) + "s"])] = inner[key]
    return "repeated"


def _wrap(inner: Any, key: Any, draw: random.Random) -> str:
    inner[key] = draw.choice([[inner[key]], {"x": inner[key]}, str(inner[key])[:1000]])
    return "wrapped"


def _shift(inner: Any, key: Any, draw: random.Random) -> str:
    if isinstance(inner[key], int | float) and not isinstance(inner[key], bool):
        inner[key] = draw.choice([inner[key] + 1, inner[key] - 1, -inner[key], 2 * inner[key]])
        return f"is {inner[key]}"
    return _replace(inner, key, draw)


_VALUE_CHANGES = (_replace, _replace, _remove, _repeat, _wrap, _shift)


def alter_header(parts: dict[str, bytes], draw: random.Random) -> str:
    """Alter the header of a tensor, which then does not fit the data."""
    name, header, data = _tensors_of(parts, draw)
    if not header:
        return f"{name} left alone"
    tensor = draw.choice(list(header))
    entry = header[tensor]
    kind = draw.choice(("dtype", "shape", "offsets", "rename", "remove", "copy", "json"))
    if kind == "dtype":
        entry["dtype"] = draw.choice(TYPES)
    elif kind == "shape":
        shape = entry["shape"]
        axis = draw.randrange(len(shape) + 1)
        shape[axis : axis + draw.choice((0, 1, 1))] = [draw.choice(DIMENSIONS)]
    elif kind == "offsets":
        at = draw.randrange(2)
        entry["data_offsets"][at] = draw.choice(
            [*DIMENSIONS, entry["data_offsets"][at] + 8, entry["data_offsets"][at] - 8]
        )
    elif kind == "rename":
        header[draw.choice(("", "__metadata__", "x", tensor * 2, "é"))] = header.pop(tensor)
    elif kind == "remove":
        del header[tensor]
    elif kind == "copy":
        header[f"{tensor}2"] = entry
    else:
        inner, key, _ = _place({"": header}, draw)
        draw.choice(_VALUE_CHANGES)(inner, key, draw)
    parts[name] = _packed(header, data)
    return f"{name}: {kind} of {tensor}"


def alter_shape(parts: dict[str, bytes], draw: random.Random) -> str:
    """Give a tensor another type or shape that fits its data."""
    name, header, data = _tensors_of(parts, draw)
    whole = [one for one in header if header[one]["shape"]]
    if not whole:
        return f"{name} left alone"
    tensor = draw.choice(whole)
    shape = header[tensor]["shape"]
    kind = draw.choice(("fewer", "more", "no", "turned", "flat", "deep", "reread"))
    if kind in ("fewer", "more", "no"):
        data = _with_rows(header, tensor, data, {"fewer": -1, "more": 1}.get(kind, -shape[0]))
    elif kind == "reread":
        kinds = {"F32": "I32", "I64": "F64", "F64": "I64"}
        header[tensor]["dtype"] = kinds.get(header[tensor]["dtype"], "F32")
    else:
        shapes = {"turned": shape[::-1], "flat": [math.prod(shape)], "deep": [*shape, 1]}
        header[tensor]["shape"] = shapes[kind]
    parts[name] = _packed(header, data)
    return f"{name}: {kind} rows of {tensor}"


def _with_rows(header: dict[str, Any], tensor: str, data: bytes, change: int) -> bytes:
    """Add or remove rows of zeros at the end of a tensor, and move those behind it."""
    entry = header[tensor]
    start, end = entry["data_offsets"]
    rows = entry["shape"][0]
    if not rows:
        return data
    moved = (end - start) // rows * change
    for other in header.values():
        if other is not entry and other["data_offsets"][0] >= end:
            other["data_offsets"] = [place + moved for place in other["data_offsets"]]
    entry["shape"][0], entry["data_offsets"] = rows + change, [start, end + moved]
    return data[: min(end, end + moved)] + bytes(max(0, moved)) + data[end:]


def alter_numbers(parts: dict[str, bytes], draw: random.Random) -> str:
    """Put numbers that are out of range, or random ones, into a tensor."""
    name, header, data = _tensors_of(parts, draw)
    places = {one: entry["data_offsets"] for one, entry in header.items()}
    filled = [one for one, (start, end) in places.items() if start < end]
    if not filled:
        return f"{name} left alone"
    tensor = draw.choice(filled)
    start, end = places[tensor]
    kind = draw.choice(("ones", "zeros", "random", "last bit"))
    width = min(8, end - start)
    at = start + (end - start - width) // 8 * draw.randrange(9)
    junk = {"ones": b"\xff" * width, "zeros": bytes(width), "random": draw.randbytes(width)}
    last = data[at : at + width - 1] + bytes([data[at + width - 1] ^ 0x40])
    data = data[:at] + junk.get(kind, last) + data[at + width :]
    parts[name] = _packed(header, data)
    return f"{name}: {kind} in {tensor}"


def alter_bytes(parts: dict[str, bytes], draw: random.Random) -> str:
    """Replace, cut, lengthen or flip the bytes of a part."""
    name = draw.choice(sorted(parts) or [""])
    data = parts.get(name, b"")
    kind = draw.choice(("replaced", "cut", "longer", "flipped", "beginning"))
    if kind == "replaced":
        data = draw.choice(BYTES)
    elif kind == "cut":
        data = data[: draw.randrange(len(data) + 1)]
    elif kind == "longer":
        data += draw.choice(BYTES)
    elif kind == "beginning":
        data = draw.randrange(2 ** draw.choice((4, 16, 40, 64))).to_bytes(8, "little") + data[8:]
    elif data:
        at = draw.randrange(len(data))
        data = data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :]
    if name:
        parts[name] = data
    return f"{name}: {kind}"


def alter_parts(parts: dict[str, bytes], draw: random.Random) -> str:
    """Remove, exchange or add a part."""
    if len(parts) < 2:
        return "parts left alone"
    one, other = draw.sample(sorted(parts), 2)
    kind = draw.choice(("removed", "exchanged", "copied", "added"))
    if kind == "removed":
        del parts[one]
    elif kind == "exchanged":
        parts[one], parts[other] = parts[other], parts[one]
    elif kind == "copied":
        parts[one] = parts[other]
    else:
        parts[draw.choice(("extra.json", "features.safetensors", "x.pkl"))] = draw.choice(BYTES)
    return f"{one} {kind}, {other}"


ALTERATIONS = (
    *(alter_json, alter_json, alter_json, alter_header, alter_header),
    *(alter_shape, alter_numbers, alter_bytes, alter_parts),
)


def _tensors_of(parts: dict[str, bytes], draw: random.Random) -> tuple[str, dict[str, Any], bytes]:
    """Return a part with tensors, its header and its data; no header if it is damaged already."""
    name = draw.choice([name for name in sorted(parts) if name.endswith(".safetensors")] or [""])
    data = parts.get(name, b"")
    start = 8 + int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8:start])
        is_sound = all(map(_is_sound, header.values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return name, {}, b""
    return name, header if is_sound else {}, data[start:]


def _is_sound(entry: dict[str, Any]) -> bool:
    numbers = [*entry["shape"], *entry["data_offsets"]]
    return len(entry["data_offsets"]) == 2 and all(type(one) is int and one >= 0 for one in numbers)


def _packed(header: Any, data: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data
