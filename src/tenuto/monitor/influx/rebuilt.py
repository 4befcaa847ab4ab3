"""Samples out of points: what the history has of a node, told again as its sampler told it. Pure.

The history has less: neither the bandwidth of an interface nor who is on a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tenuto.model.series import Points
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample


def samples_of(points: Points) -> Iterator[NodeSample]:
    """What one subject of a node was at each moment; all else is unknown."""
    for index, at in enumerate(points.at):
        told = {name: column[index] for name, column in points.values.items()}
        yield NodeSample(at=at, **_part(points.subject.part, told))


def _part(part: str, told: dict[str, Any]) -> dict[str, Any]:
    kind, _, which = part.partition(":")
    match kind:
        case "":
            return _known(NodeSample, told)
        case "cores":
            return {"cores": tuple(told[core] for core in sorted(told, key=int))}
        case "gpu":
            return {"gpus": (GpuSample(index=int(which), **_known(GpuSample, told)),)}
        case "net":
            return {"nets": (NetSample(id=which, **_known(NetSample, told)),)}
        case "disk":
            return {"disks": (DiskSample(path=which, **_known(DiskSample, told)),)}
        case _:
            return {}


def _known(sample: type, told: dict[str, Any]) -> dict[str, Any]:
    """What such a sample has a place for: the history may be of another version."""
    return {field.name: told[field.name] for field in fields(sample) if field.name in told}
