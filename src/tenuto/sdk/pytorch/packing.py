"""Nested values as JSON and a dictionary of tensors: what `state_dict()` returns travels without pickle."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch

from tenuto.errors import InputInvalid

Tensors = dict[str, torch.Tensor]

_KIND = "$"


def pack(value: Any, name: str, tensors: Tensors) -> Any:
    """The value as JSON; its tensors go into `tensors`, under names that begin with `name`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        tensors[name] = value.detach()
        return {_KIND: "tensor", "name": name}
    if isinstance(value, list):
        return [pack(item, f"{name}/{number}", tensors) for number, item in enumerate(value)]
    if isinstance(value, tuple):
        items = [pack(item, f"{name}/{number}", tensors) for number, item in enumerate(value)]
        return {_KIND: "tuple", "items": items}
    if isinstance(value, Mapping):
        kind = "counter" if isinstance(value, Counter) else "dict"
        items = [
            [pack(key, name, tensors), pack(item, f"{name}/{key}", tensors)] for key, item in value.items()
        ]
        return {_KIND: kind, "items": items}
    return _pack_array(value, name, tensors)


def _pack_array(value: Any, name: str, tensors: Tensors) -> Any:
    numpy = sys.modules.get("numpy")  # where it was not imported, nothing of it can be in the state
    if numpy is not None and isinstance(value, numpy.ndarray):
        tensors[name] = torch.from_numpy(value.view(numpy.uint8).copy())
        return {_KIND: "array", "name": name, "dtype": value.dtype.str, "shape": list(value.shape)}
    if numpy is not None and isinstance(value, numpy.generic):
        return value.item()
    raise InputInvalid(
        f"the training state has a {type(value).__name__} at {name}, which cannot be moved as plain data",
        remedy="Keep numbers, texts, lists, dictionaries and tensors in state_dict()",
        field=name,
    )


def unpack(packed: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    """What was packed."""
    if isinstance(packed, list):
        return [unpack(item, tensors) for item in packed]
    if not isinstance(packed, dict):
        return packed
    kind = packed[_KIND]
    if kind == "tensor":
        return tensors[packed["name"]]
    if kind == "array":
        import numpy

        raw = tensors[packed["name"]].numpy()
        return raw.view(numpy.dtype(packed["dtype"])).reshape(packed["shape"]).copy()
    if kind == "tuple":
        return tuple(unpack(item, tensors) for item in packed["items"])
    pairs = [(unpack(key, tensors), unpack(item, tensors)) for key, item in packed["items"]]
    return Counter(dict(pairs)) if kind == "counter" else dict(pairs)
