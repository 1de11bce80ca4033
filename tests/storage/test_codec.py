"""Tensors and JSON as bytes: they come back as they were, and other bytes raise."""

import pytest
import torch
from safetensors.torch import save

from dmte.errors import StorageError
from dmte.storage.codec import (
    decode_json,
    decode_tensors,
    encode_json,
    encode_tensors,
    view_tensors,
)


def test_tensors_come_back_as_they_were() -> None:
    table = torch.arange(12.0).reshape(3, 4)
    tensors = {
        "table": table,
        "view": table[1:],
        "transposed": table.T,
        "expanded": torch.ones(1).expand(5),
        "half": table.to(torch.bfloat16),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "state": torch.Generator().get_state(),
        "flags": torch.tensor([True, False]),
        "step": torch.tensor(7),
        "empty": torch.empty(0, 3),
    }
    unpacked = decode_tensors(encode_tensors(tensors))
    assert unpacked.keys() == tensors.keys()
    for name, tensor in tensors.items():
        torch.testing.assert_close(unpacked[name], tensor.detach(), rtol=0, atol=0)
        assert unpacked[name].is_contiguous()
        unpacked[name].zero_()  # what was read may be trained on


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
    with pytest.raises(StorageError, match=f"^{len(data)} bytes are not safetensors"):
        decode_tensors(data)


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


def test_bytes_that_are_not_safetensors_cannot_be_viewed() -> None:
    with pytest.raises(StorageError, match="are not safetensors"):
        view_tensors(b"not at all")
