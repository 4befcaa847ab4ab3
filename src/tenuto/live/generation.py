"""A new generation of a job's workers: slots, a port to meet at, and a note of every start that is to come. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tenuto.engines.base import Observation
from tenuto.engines.launch import launch
from tenuto.forecast.rates import rate_at
from tenuto.live.change import Change
from tenuto.model.job import Job, Member
from tenuto.model.members import next_members
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
    staying: tuple[Member, ...] = ()
    """Of a job that goes over in place: those who train now; they go on where their slots are among these. Without
    them the job is started as a whole, once the last worker of today has gone."""
    beside: bool = False
    """The places are not slots that it holds, but seats beside them."""


def begin(
    change: Change, place: Place, nodes: Mapping[str, Node], seen: Observation, taken: Collection[int] = ()
) -> Change:
    """Hold these slots in a new generation; `taken` are ports that somebody else is about to use."""
    if change.job.spec.in_place and not place.staying:
        change = change.release()  # in two steps: all leave, then all are new
    change = change.take(place.slots, place.speed, place.ready_at, beside=place.beside)
    if change.job.spec.in_place:
        change = _with_members(change, place, nodes)
    else:
        change = change.put(port=_port(change, place, nodes, seen, taken))
    job = change.job
    starts = (
        Attempt(
            job=job.id,
            generation=order.id.generation,
            role=order.id.role,
            rank=order.id.rank,
            node=order.node,
            slot=order.slot,
        )
        for order in launch(job, nodes)
        if order.id.generation == job.generation
    )
    return change.note(*starts)


def speed_at(job: Job, workers: int) -> float:
    """Steps per second by the curve, until a round decides."""
    return rate_at(job.curve, workers)[0] if job.curve else (job.pace or 1.0) * workers


def _with_members(change: Change, place: Place, nodes: Mapping[str, Node]) -> Change:
    job = change.job
    order = {name: nodes[name].number for name in place.slots}
    members = next_members(place.staying, place.slots, job.generation, order)
    if place.staying:
        return change.put(members=members)
    return change.put(members=members, since=job.generation, reconfigs=0)


def _port(
    change: Change, place: Place, nodes: Mapping[str, Node], seen: Observation, taken: Collection[int]
) -> int | None:
    """Where the workers will meet."""
    job = change.job
    first = min(place.slots, key=lambda name: nodes[name].number)
    ports = seen.nodes[first].ports if first in seen.nodes else ()
    # Another port each time: what listened at the last one may not be gone from the system yet.
    shift = (job.number + job.generation) % len(ports) if ports else 0
    return next((port for port in (*ports[shift:], *ports[:shift]) if port not in taken), None)
