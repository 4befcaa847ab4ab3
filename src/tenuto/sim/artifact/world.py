"""Everything that a replay's loop works on, in one value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.capacity import Capacity, capacity_for
from tenuto.sim.artifact.draft import Draft, draft_for
from tenuto.sim.artifact.journal import Journal, journal_for
from tenuto.sim.artifact.overhead import Costs, costs_of
from tenuto.sim.artifact.ranks import Groups, groups_of
from tenuto.sim.artifact.state import (
    Alarms,
    Books,
    Clock,
    Jobs,
    Live,
    Queue,
    Rules,
    alarms_for,
    books_of,
    clock_at,
    jobs_of,
    live_of,
    queue_for,
)
from tenuto.sim.workload import Workload


class World(NamedTuple):
    """The state of a replay and the scratch paper of its kernels."""

    rules: Rules
    jobs: Jobs
    live: Live
    books: Books
    clock: Clock
    queue: Queue
    """Jobs that wait or run, in the order that the reference calls runnable."""
    running: Queue
    """Jobs that were started, in the order of their start."""
    pending: Queue
    """Jobs that were never started, in the order of their submission."""
    lineup: Queue
    """A sorted copy of the queue."""
    alarms: Alarms
    groups: Groups
    costs: Costs
    journal: Journal
    capacity: Capacity
    saved: Capacity
    """The capacity profile before the first newcomer was planned."""
    draft: Draft
    key: Floats
    """For each job what it is sorted by."""
    spare: Ints
    target: Ints
    """For each job the level it would get next."""
    old_end: Floats
    """For each job its predicted end before the event."""
    planned_gpus: Ints
    planned_end: Floats
    """For each job its share and its end in a plan of EDF that may be dropped."""


def world_of(workload: Workload, limits: Ints, slot: float, *, refresh: bool, journal: Journal) -> World:
    """Set up a replay."""
    count = len(workload.trace)
    cluster = workload.cluster
    total = cluster.total
    return World(
        rules=Rules(total, _per_node(cluster), len(cluster.slots), slot, refresh),
        jobs=jobs_of(workload, limits),
        live=live_of(workload),
        books=books_of(count),
        clock=clock_at(float(workload.trace.submitted[0])),
        queue=queue_for(count),
        running=queue_for(count),
        pending=queue_for(count),
        lineup=queue_for(count),
        alarms=alarms_for(count),
        groups=groups_of(cluster),
        costs=costs_of(total),
        journal=journal,
        capacity=capacity_for(count),
        saved=capacity_for(count),
        draft=draft_for(count),
        key=np.zeros(count),
        spare=np.zeros(count, dtype=np.int64),
        target=np.zeros(count, dtype=np.int64),
        old_end=np.zeros(count),
        planned_gpus=np.zeros(count, dtype=np.int64),
        planned_end=np.zeros(count),
    )


def world_journal(workload: Workload, events: int, *, layouts: bool) -> Journal:
    """Make a journal for a workload's cluster."""
    return journal_for(events, workload.cluster.total, layouts=layouts)


def _per_node(cluster: Cluster) -> int:
    sizes = set(cluster.slots.tolist())
    if len(sizes) != 1:
        raise InputInvalid(
            f"the nodes of cluster {cluster.name} have different numbers of slots",
            remedy="The reference knows equal nodes only: choose such a cluster, or replay without --compat",
        )
    return int(sizes.pop())
