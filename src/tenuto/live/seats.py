"""Places beside the slots that rounds give out: what jobs without GPUs and guests have in common. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf

from tenuto.live.change import Change, allocation
from tenuto.live.generation import Place, begin, speed_at
from tenuto.live.sight import Sight
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import Phase
from tenuto.settings import Sharing
from tenuto.wire.worker import WorkerState

P = Phase
Places = Mapping[str, tuple[int, ...]]
"""For each node the numbers of slots, or of places for jobs without GPUs."""


@dataclass(frozen=True)
class House:
    """Where there may be room, and by which rules."""

    sight: Sight
    sharing: Sharing
    cpu_jobs: int
    """Workers without a GPU that each node takes."""
    start_cost: float

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """Those that can be used, in the order in which they joined."""
        usable = (
            node
            for name, node in self.sight.nodes.items()
            if node.state is NodeState.ONLINE and name not in self.sight.lost
        )
        return {node.name: node for node in sorted(usable, key=lambda node: node.number)}

    @cached_property
    def newest(self) -> Mapping[tuple[str, int], float]:
        """For each slot when the newest of the workers there was started; `inf` if one is still to start."""
        found: dict[tuple[str, int], float] = {}
        for worker in self.sight.seen.workers.values():
            if worker.slot is not None and worker.state is not WorkerState.EXITED:
                begun = inf if worker.started_at is None else worker.started_at
                slot = (worker.node, worker.slot)
                found[slot] = max(begun, found.get(slot, begun))
        return found


def in_turn(change: Change) -> tuple[bool, int]:
    """Who is urgent comes first, then who was there first."""
    return not change.job.urgent, change.job.number


def is_left_alone(job: Job) -> bool:
    """Whether nobody wants a job to stop or to end."""
    return not (job.pause or job.cancel or job.ending is not None)


def seated(change: Change, seats: Places, why: str, message: str, house: House) -> Change:
    """Begin on these seats."""
    workers = sum(map(len, seats.values()))
    ready_at = change.at + house.start_cost
    place = Place(seats, speed_at(change.job, workers), ready_at, beside=True)
    sight = house.sight
    started = begin(change, place, sight.nodes, sight.seen).move(P.STARTING, why, message)
    return told(started, change.job, message)


def told(change: Change, before: Job, reason: str) -> Change:
    """Add the event of other seats, or none."""
    return change.tell(
        "scaled",
        before=allocation(before.places),
        after=allocation(change.job.places),
        reason=reason,
        data={"workers": change.job.workers, "generation": change.job.generation, "beside": True},
    )


def spread(need: int, open_: Places) -> Places | None:
    """So many of the open places: on the first node that has enough, else node by node; None if there are too few."""
    for node, numbers in open_.items():
        if len(numbers) >= need:
            return {node: numbers[:need]}
    if sum(map(len, open_.values())) < need:
        return None
    chosen: dict[str, tuple[int, ...]] = {}
    for node, numbers in open_.items():
        if need and numbers:
            chosen[node] = numbers[:need]
            need -= len(chosen[node])
    return chosen
