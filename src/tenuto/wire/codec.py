"""How the values of `wire.node` and `wire.worker` become JSON and come back, checked; one way for both ends."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")
_adapters: dict[type[Any], TypeAdapter[Any]] = {}
"""Building one takes milliseconds, so each is built once."""


def encode(value: Any) -> bytes:
    """The value, a dataclass of this package, as JSON."""
    return _adapter(type(value)).dump_json(value)


def decode(kind: type[T], text: bytes) -> T:
    """Read what `encode` wrote. Unknown fields are left aside; raises pydantic.ValidationError for anything else."""
    value: T = _adapter(kind).validate_json(text)
    return value


def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]
