"""A new generation of a job's workers: slots, a port to meet at, and a note of every start that is to come. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tenuto.engines.base import Observation
from tenuto.engines.launch import launch
from tenuto.live.change import Change
from tenuto.model.node import Node
from tenuto.store.base import Attempt


@dataclass(frozen=True)
class Place:
    """Where a generation is to run, and how fast."""

    slots: Mapping[str, tuple[int, ...]]
    speed: float
    """Steps per second by the curve."""
    ready_at: float
    """From when on."""


def begin(
    change: Change, place: Place, nodes: Mapping[str, Node], seen: Observation, taken: Collection[int] = ()
) -> Change:
    """Hold these slots in a new generation; `taken` are ports that somebody else is about to use."""
    change = change.take(place.slots, place.speed, place.ready_at)
    job = change.job
    first = min(place.slots, key=lambda name: nodes[name].number)
    ports = seen.nodes[first].ports if first in seen.nodes else ()
    # Another port each time: what listened at the last one may not be gone from the system yet.
    shift = (job.number + job.generation) % len(ports) if ports else 0
    free = [port for port in (*ports[shift:], *ports[:shift]) if port not in taken]
    change = change.put(port=free[0] if free else None)
    starts = (
        Attempt(
            job=job.id,
            generation=job.generation,
            role=order.id.role,
            rank=order.id.rank,
            node=order.node,
            slot=order.slot,
        )
        for order in launch(change.job, nodes)
    )
    return change.note(*starts)
