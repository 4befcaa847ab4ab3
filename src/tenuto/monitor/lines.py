"""A sample as a line of JSON, and back. Both are cheap: a sampler writes one a second, and its supervisor reads it.

Every field is written, null if it is unknown. Whoever reads leaves fields of another version aside.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NetSample, NodeSample

T = TypeVar("T")
_PARTS = {"disks": DiskSample, "nets": NetSample, "gpus": GpuSample, "processes": GpuProcess}
"""What lists of these names consist of."""


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


_encoder = json.JSONEncoder(default=_fields, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def encode(sample: NodeSample) -> bytes:
    """One line."""
    return _encoder.encode(sample).encode(errors="replace") + b"\n"


def decode(line: bytes | str) -> NodeSample:
    """What `encode` wrote; raises ValueError for anything else."""
    told = json.loads(line)
    try:
        return _made(NodeSample, told)
    except (TypeError, AttributeError) as error:
        raise ValueError(f"a line that is no sample: {error}") from error


def _made(kind: type[T], told: dict[str, Any]) -> T:
    known = kind.__slots__  # type: ignore[attr-defined]
    return kind(**{name: _value(name, value) for name, value in told.items() if name in known})


def _value(name: str, value: Any) -> Any:
    if not isinstance(value, list):
        return value
    part = _PARTS.get(name)
    return tuple(value) if part is None else tuple(_made(part, one) for one in value)
