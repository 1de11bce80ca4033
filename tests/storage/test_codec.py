"""Tensors and JSON as bytes: they come back as they were, and other bytes raise."""

import json

import pytest
import torch
from safetensors.torch import save

from dmte.errors import StorageError
from dmte.storage.codec import (
    decode_json,
    encode_json,
    encode_tensors,
    tensor_entries,
    view_tensors,
)


def test_tensors_come_back_as_they_were() -> None:
    table = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "table": table,
        "view": table[1:],
        "transposed": table.T,
        "expanded": torch.ones(1).expand(5),
        "half": table.to(torch.float16),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "state": torch.Generator().get_state(),
        "flags": torch.tensor([True, False]),
        "step": torch.tensor(7),
        "short": torch.tensor([1, -2], dtype=torch.int16),
        "empty": torch.empty(0, 3),
    }
    arrays = view_tensors(encode_tensors(tensors))
    assert arrays.keys() == tensors.keys()
    for name, tensor in tensors.items():
        found = torch.from_numpy(arrays[name].copy())
        torch.testing.assert_close(found, tensor.detach(), rtol=0, atol=0)
    assert view_tensors(encode_tensors(tensors), ["step"]).keys() == {"step"}


def test_tensors_have_the_bytes_of_safetensors() -> None:
    kinds = ("bool", "uint8", "int8", "int16", "float16", "bfloat16", "int32", "float32")
    named = [*kinds, "float64", "int64"]
    tensors = {f"é {kind}": torch.ones(3, 2).to(getattr(torch, kind)) for kind in named}
    tensors |= {"scalar": torch.tensor(7), "empty": torch.empty(0, 3), "a": torch.zeros(5)}
    assert encode_tensors(tensors) == save(tensors)
    assert encode_tensors({}) == save({})


def test_equal_tensors_give_equal_bytes() -> None:
    tensors = {name: torch.full((3, 2), i) for i, name in enumerate("dbca")}
    again = {name: tensors[name].T.contiguous().T for name in sorted(tensors)}
    assert encode_tensors(tensors) == encode_tensors(again)


@pytest.mark.parametrize(
    "data",
    [b"", b"not safetensors", encode_tensors({"a": torch.ones(9)})[:-1]],
    ids=["empty", "foreign", "cut short"],
)
def test_bytes_that_are_not_tensors_raise(data: bytes) -> None:
    for read in (tensor_entries, view_tensors):
        with pytest.raises(StorageError, match=f"^{len(data)} bytes are not safetensors"):
            read(data)


def test_a_type_that_numpy_does_not_have_raises() -> None:
    data = encode_tensors({"half": torch.ones(2, dtype=torch.bfloat16)})
    with pytest.raises(StorageError, match="'half' has the type BF16"):
        view_tensors(data)


def stored(header: object, numbers: bytes = bytes(24)) -> bytes:
    """Return safetensors with any header, padded as the format asks for."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


A = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
HEADERS: dict[str, object] = {
    "not an object": [A],
    "a tensor that is not an object": {"a": 3},
    "another type": {"a": A | {"dtype": "F8"}},
    "a type that is a list": {"a": A | {"dtype": ["F32"]}},
    "no shape": {"a": {"dtype": "F32", "data_offsets": [0, 24]}},
    "a shape that is a number": {"a": A | {"shape": 6}},
    "a shape of another size": {"a": A | {"shape": [2, 4]}},
    "a shape below 0": {"a": A | {"shape": [-2, -3]}},
    "a shape with a fraction": {"a": A | {"shape": [2, 3.0]}},
    "a shape with a truth value": {"a": A | {"shape": [6, True]}},
    "a shape beyond all memory": {"a": A | {"shape": [0, 2**62, 2**62], "data_offsets": [0, 0]}},
    "a shape of huge numbers": {"a": A | {"shape": [10**400]}},
    "too many axes": {"a": A | {"shape": [1] * 4000 + [6]}},
    "negative offsets": {"a": A | {"data_offsets": [-24, 0]}},
    "offsets beyond the end": {"a": A | {"data_offsets": [24, 48]}},
    "offsets that are not a pair": {"a": A | {"data_offsets": [0, 8, 24]}},
    "offsets in words": {"a": A | {"data_offsets": ["0", "24"]}},
    "two tensors at one place": {"a": A, "b": A},
    "a gap": {
        "a": A | {"shape": [2], "data_offsets": [0, 8]},
        "b": A | {"shape": [2], "data_offsets": [16, 24]},
    },
    "an end that is not used": {"a": A | {"shape": [2], "data_offsets": [0, 8]}},
    "unaligned numbers": {
        "a": A | {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
        "b": A | {"dtype": "U8", "shape": [22], "data_offsets": [2, 24]},
        "c": A | {"shape": [0], "data_offsets": [2, 2]},
    },
    "deep JSON": b"[" * 100_000,
    "not UTF-8": b"\xff" * 16,
}


@pytest.mark.parametrize("case", HEADERS)
def test_a_header_that_does_not_fit_its_data_raises(case: str) -> None:
    assert view_tensors(stored({"a": A}))["a"].shape == (2, 3)
    with pytest.raises(StorageError, match="are not safetensors") as raised:
        tensor_entries(stored(HEADERS[case]))
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize("length", [0, 7, 8, 1 << 20, 2**64 - 8])
def test_a_header_of_another_length_raises(length: int) -> None:
    data = length.to_bytes(8, "little") + stored({"a": A})[8:]
    with pytest.raises(StorageError, match="are not safetensors"):
        tensor_entries(data)


def test_json_comes_back_as_it_was() -> None:
    value = {
        "ids": ["é", "水", "\n"],
        "dim": 200,
        "rate": 1e-3,
        "seed": None,
        "deep": [{"a": True}],
    }
    data = encode_json(value)
    assert decode_json(data) == value
    assert "水".encode() in data
    assert data == encode_json(dict(reversed(value.items())))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), "\ud800"])
def test_a_value_without_a_json_form_raises(value: object) -> None:
    with pytest.raises(StorageError, match="has no JSON form"):
        encode_json({"value": value})


@pytest.mark.parametrize(
    "data", [b"", b"{", b'"\xff"', b"[" * 100_000], ids=["empty", "cut short", "latin", "deep"]
)
def test_bytes_that_are_not_json_raise_by_name(data: bytes) -> None:
    with pytest.raises(StorageError, match=r"^config\.json is not JSON"):
        decode_json(data, "config.json")
