"""From the store's records to the frozen picture that a round decides on, and back from its slots to nodes.

The records hold Unix seconds and slots by node; a snapshot holds seconds since the platform's epoch and slots
numbered through. Everything here is a function of the scene: the controller takes a picture before each round,
the server takes one to find out what a change would do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from tenuto.forecast.memory import forgetting, lets_wait, promised_numbers
from tenuto.forecast.rates import Rates, being_measured, rates_of, terms_of
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.cost import Cost
from tenuto.model.job import Job, Reply
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import OPEN_PROMISES, PLACED, Phase, PromiseState
from tenuto.model.plan import Why
from tenuto.model.snapshot import IDLE, UNUSABLE, Rules, Snapshot, worth_using

UNKNOWN_LEFT = 1e12
"""Steps that a job of unknown length is thought to have: more than any does, and still a number."""
LEAST_LEFT = 1e-6
"""Seconds of work that a job still has that should be done by its curve and is not."""


@dataclass(frozen=True)
class Scene:
    """The records that a round decides on, at one moment. Times are Unix seconds."""

    jobs: Sequence[Job]
    nodes: Sequence[Node]
    now: float
    epoch: float
    rules: Rules
    start_cost: float
    rescale_cost: float
    memory: Any = None
    left: Mapping[int, float] = field(default_factory=dict)
    """Steps left now, by job number, where that is known better than by the job's own record."""
    promises: bool = True
    """Whether the policy in force gives promises; if not, deadlines are a matter of order for everybody."""


@dataclass(frozen=True)
class Picture:
    """A snapshot, and what its rows and slots are called in the records."""

    snapshot: Snapshot
    jobs: tuple[Job, ...]
    """By row."""
    asked_again: frozenset[int]
    """Numbers of jobs that are on their way and need a new answer: their curve has been measured, their
    deadline was changed, or the policy knows nothing of the promise they hold."""
    epoch: float
    """Where the snapshot's time begins."""

    def row_of(self, number: int) -> int | None:
        """The row of a job; None if the round does not decide about it."""
        row = int(np.searchsorted(self.snapshot.number, number))
        return row if row < len(self.jobs) and self.jobs[row].number == number else None

    def named(self, slots: Iterable[int]) -> dict[str, tuple[int, ...]]:
        """Slots of the snapshot as nodes and the numbers of the slots there."""
        cluster = self.snapshot.cluster
        found: dict[str, list[int]] = {}
        for slot in sorted(slots):
            node = int(cluster.node_of_slot[slot])
            found.setdefault(cluster.node_names[node], []).append(slot - int(cluster.first_slot[node]))
        return {name: tuple(numbers) for name, numbers in found.items()}

    def numbered(self, slots: Mapping[str, Sequence[int]]) -> tuple[int, ...]:
        """The inverse: slots of nodes as slots of the snapshot."""
        cluster = self.snapshot.cluster
        first = dict(zip(cluster.node_names, cluster.first_slot.tolist(), strict=False))
        return tuple(sorted(first[name] + number for name, numbers in slots.items() for number in numbers))


def picture(scene: Scene) -> Picture:
    """Take the picture of a scene."""
    jobs = tuple(sorted((job for job in scene.jobs if job.is_planned), key=_number))
    ground = _ground(scene.nodes)
    memory, again = _what_to_ask_again(scene, jobs)
    rates = [_rates(job, ground) for job in jobs]
    layout, held = _holdings(jobs, rates, ground)
    sizes, rate = _rate_columns(rates, ground.cluster.total + 1)
    snapshot = Snapshot(
        now=scene.now - scene.epoch,
        cluster=ground.cluster,
        layout=layout,
        sizes=sizes,
        number=_ints(job.number for job in jobs),
        undecided=_flags(job.phase is Phase.SUBMITTED or job.number in again for job in jobs),
        urgent=_flags(job.urgent for job in jobs),
        arrived=_floats(job.submitted_at for job in jobs) - scene.epoch,
        deadline=_deadlines(scene, jobs, memory, again),
        left=_left(scene, jobs, rate),
        rate=rate,
        useful=worth_using(rate),
        requested=_requested(jobs, sizes, rate, ground.usable),
        held=held,
        ready_at=np.where(held > 0, _floats(job.progress.ready_at for job in jobs) - scene.epoch, -inf),
        changed_at=np.where(held > 0, _floats(job.progress.changed_at for job in jobs) - scene.epoch, -inf),
        cost=_cost(sizes, scene),
        rules=scene.rules,
        memory=memory,
        bound=_bound(jobs, ground),
    )
    return Picture(snapshot, jobs, again, scene.epoch)


def _number(job: Job) -> int:
    return job.number


@dataclass(frozen=True)
class _Ground:
    """The nodes as rounds see them."""

    cluster: Cluster
    first: Mapping[str, int]
    """The first slot of each node that can be used."""
    slots: Mapping[str, int]
    """The slots of each node that can be used."""
    usable: int


def _ground(nodes: Sequence[Node]) -> _Ground:
    nodes = sorted(nodes, key=lambda node: node.number)
    # A cluster without any slot is no cluster for some policies; one that nobody can use does no harm.
    counts = (
        [(node.name, len(node.slots)) for node in nodes] if any(node.slots for node in nodes) else [("", 1)]
    )
    cluster = Cluster(
        name="live",
        slots=frozen(np.array([count for _, count in counts], dtype=np.int64)),
        switch=frozen(np.zeros(len(counts), dtype=np.int64)),
        node_names=tuple(name for name, _ in counts),
    )
    first = dict(zip(cluster.node_names, cluster.first_slot.tolist(), strict=False))
    slots = {node.name: len(node.slots) for node in nodes if node.state is NodeState.ONLINE}
    return _Ground(
        cluster, {name: first[name] for name in slots if name in first}, slots, sum(slots.values())
    )


def _where(job: Job, ground: _Ground) -> Mapping[str, int] | None:
    """The most slots a job may have on each node, of those that can be used; None if all are the same to it."""
    if job.pin is not None and job.pin.nodes:
        return {name: min(count, ground.slots.get(name, 0)) for name, count in job.pin.nodes.items()}
    if job.spec.node:
        return {job.spec.node: ground.slots.get(job.spec.node, 0)}
    return None


def _bound(jobs: Sequence[Job], ground: _Ground) -> Mapping[int, Ints] | None:
    bound: dict[int, Ints] = {}
    for row, job in enumerate(jobs):
        where = _where(job, ground)
        if where is not None:
            bound[row] = frozen(_ints(where.get(name, 0) for name in ground.cluster.node_names))
    return bound or None


def _rates(job: Job, ground: _Ground) -> Rates:
    """A job's rates; if it can run nowhere, one at a size that no cluster of today has, so that it waits."""
    where = _where(job, ground)
    within = ground.cluster.total if where is None else sum(where.values())
    return rates_of(terms_of(job, within)) or ((ground.cluster.total + 1, 1.0),)


def _holdings(jobs: Sequence[Job], rates: Sequence[Rates], ground: _Ground) -> tuple[Ints, Ints]:
    """The layout, and the slots held by each row.

    Who has lost a slot, or may no longer have the size it has, holds nothing: a new start is what it needs.
    """
    layout = np.full(ground.cluster.total, UNUSABLE, dtype=np.int64)
    for name, first in ground.first.items():
        layout[first : first + ground.slots[name]] = IDLE
    held = np.zeros(len(jobs), dtype=np.int64)
    for row, job in enumerate(jobs):
        if job.phase in PLACED and job.slots:
            slots = _slots_of(job, ground)
            if any(size == len(slots) for size, _ in rates[row]) and (layout[slots] == IDLE).all():
                layout[slots] = job.number
                held[row] = len(slots)
    return frozen(layout), held


def _slots_of(job: Job, ground: _Ground) -> list[int]:
    """A job's slots, numbered through; none if one of them is not there any more."""
    where = _where(job, ground)
    found: list[int] = []
    for name, numbers in job.slots.items():
        usable = ground.slots.get(name, 0) if where is None else where.get(name, 0)
        if len(numbers) > usable or max(numbers, default=-1) >= ground.slots.get(name, 0):
            return []
        found += [ground.first[name] + number for number in numbers]
    return found


def _rate_columns(rates: Sequence[Rates], nobodys: int) -> tuple[Ints, Floats]:
    """All sizes that occur, and everybody's rate at each of them."""
    kinds = {kind: index for index, kind in enumerate(dict.fromkeys(rates))}
    every = sorted({size for kind in kinds for size, _ in kind} or {nobodys})
    column = {size: index for index, size in enumerate(every)}
    table = np.zeros((len(kinds), len(every)))
    for kind, index in kinds.items():
        for size, rate in kind:
            table[index, column[size]] = rate
    rate_rows: Floats = table[[kinds[kind] for kind in rates]] if len(rates) else np.zeros((0, len(every)))
    return frozen(np.array(every, dtype=np.int64)), rate_rows


def _requested(jobs: Sequence[Job], sizes: Ints, rate: Floats, usable: int) -> Ints:
    """The largest usable size up to the preferred one, else the smallest there is."""
    wanted = np.minimum(_ints(job.spec.requested for job in jobs), usable)
    able = rate > 0.0
    fits = able & (sizes <= wanted[:, np.newaxis])
    largest = len(sizes) - 1 - fits[:, ::-1].argmax(axis=1)
    requested: Ints = sizes[np.where(fits.any(axis=1), largest, able.argmax(axis=1))]
    return requested


def _deadlines(scene: Scene, jobs: Sequence[Job], memory: Any, again: frozenset[int]) -> Floats:
    """Deadlines as policies shall see them: of whoever asks, was promised, or waits for room in spite of a no."""
    promised, waiting = promised_numbers(memory), lets_wait(memory)

    def counts(job: Job) -> bool:
        if being_measured(job):
            return False
        asks = job.phase is Phase.SUBMITTED or job.number in again
        hopes = waiting and job.contract is not None and job.contract.why == Why.NO_ROOM_FOR_PROMISE
        return asks or hopes or not scene.promises or job.number in promised

    deadline = [job.deadline if job.deadline is not None and counts(job) else inf for job in jobs]
    return _floats(deadline) - scene.epoch


def _what_to_ask_again(scene: Scene, jobs: Sequence[Job]) -> tuple[Any, frozenset[int]]:
    """Who was answered and must be answered anew; and the memory without the promises that are void by that."""
    if not scene.promises:
        return scene.memory, frozenset()
    promised = promised_numbers(scene.memory)
    void = {job.number for job in jobs if job.number in promised and _is_void(job)}
    valid = promised - void
    again = frozenset(job.number for job in jobs if _needs_answer(job, job.number in valid))
    return forgetting(scene.memory, void), again


def _is_void(job: Job) -> bool:
    """Whether what was promised is no longer what is asked for."""
    if job.phase is Phase.SUBMITTED or job.contract is None or job.promise is PromiseState.WITHDRAWN:
        return True
    return job.contract.reply is not Reply.ADMITTED or job.contract.promised != job.deadline


def _needs_answer(job: Job, promised: bool) -> bool:
    if job.phase is Phase.SUBMITTED or job.deadline is None or promised:
        return False
    if job.contract is None:
        return True
    if job.contract.reply is Reply.ADMITTED:
        return job.promise in OPEN_PROMISES
    return job.contract.reply is Reply.QUEUED and job.contract.why == Why.NO_PROMISE_ASKED


def _left(scene: Scene, jobs: Sequence[Job], rate: Floats) -> Floats:
    left = _floats(_left_now(scene, job) for job in jobs)
    least: Floats = LEAST_LEFT * rate.max(axis=1, initial=0.0)
    return np.maximum(left, least)


def _left_now(scene: Scene, job: Job) -> float:
    if not job.total:
        return UNKNOWN_LEFT
    if job.number in scene.left:
        return scene.left[job.number]
    progress = job.progress
    worked = max(scene.now - max(progress.as_of, progress.ready_at), 0.0)
    return progress.left - worked * progress.speed


def _cost(sizes: Ints, scene: Scene) -> Cost:
    rescale = frozen(np.full(len(sizes), scene.rescale_cost))
    return Cost(frozen(np.full(len(sizes), scene.start_cost)), rescale, rescale)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, dtype=np.float64)


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)
