"""Samples of a node as points of its subjects. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import TypeVar

from tenuto.model.series import NODE, Points, Subject
from tenuto.wire.sample import NodeSample

T = TypeVar("T")
_NODE = ("cpu", "load", "ram_used", "ram_total", "swap_used", "swap_total")
_GPU = ("utilisation", "memory_used", "memory_total", "power", "power_limit", "temperature", "fan")
_NET = ("received", "sent")
_DISK = ("used", "total", "read", "written")


def points_of(node: str, samples: Sequence[NodeSample]) -> list[Points]:
    """Everything that samples of a node tell, oldest first, by subject."""
    at = [sample.at for sample in samples]
    found = [Points(subject=Subject(NODE, node), at=at, values=_columns(samples, _NODE))]
    found += _cores(node, samples)
    found += _parts(node, samples, lambda sample: {f"gpu:{gpu.index}": gpu for gpu in sample.gpus}, _GPU)
    found += _parts(node, samples, lambda sample: {f"net:{net.id}": net for net in sample.nets}, _NET)
    found += _parts(node, samples, lambda sample: {f"disk:{disk.path}": disk for disk in sample.disks}, _DISK)
    return found


def _cores(node: str, samples: Sequence[NodeSample]) -> list[Points]:
    told = [sample for sample in samples if sample.cores]
    if not told:
        return []
    by_core = zip_longest(*(sample.cores for sample in told))
    columns = {str(core): list(values) for core, values in enumerate(by_core)}
    return [Points(subject=Subject(NODE, node, "cores"), at=[sample.at for sample in told], values=columns)]


def _parts(
    node: str,
    samples: Sequence[NodeSample],
    parts_in: Callable[[NodeSample], Mapping[str, T]],
    names: Sequence[str],
) -> list[Points]:
    """One subject for each part that is in any sample, at the moments at which it is."""
    told: dict[str, tuple[list[float], list[T]]] = {}
    for sample in samples:
        for part, found in parts_in(sample).items():
            at, all_found = told.setdefault(part, ([], []))
            at.append(sample.at)
            all_found.append(found)
    return [
        Points(subject=Subject(NODE, node, part), at=at, values=_columns(found, names))
        for part, (at, found) in told.items()
    ]


def _columns(told: Sequence[object], names: Sequence[str]) -> dict[str, list[float | None]]:
    return {name: [getattr(one, name) for one in told] for name in names}
