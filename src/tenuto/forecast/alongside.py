"""A world in which another policy decides about the jobs that really came: the simulator's world, with a past.

The same jobs arrive, the same users cancel, pause and change them, the same nodes come and go, all at the moments at
which they really did. Who runs where, and who is refused, is this world's own matter. Jobs run as their curves
say; one that really failed fails here after as many steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan
from typing import Any, NamedTuple

import numpy as np

from tenuto.forecast.ground import Ground, Shift
from tenuto.forecast.memory import forgetting
from tenuto.forecast.past import SHORTEST, PastJob, Wish, WishKind
from tenuto.forecast.picture import UNKNOWN_LEFT
from tenuto.forecast.rates import Rates
from tenuto.forecast.trace_of import cluster_of, size_for
from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.cost import Cost
from tenuto.model.curve import Profiles
from tenuto.model.phase import Phase
from tenuto.model.plan import Round, Why
from tenuto.model.snapshot import IDLE, UNUSABLE, Rules, Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload
from tenuto.sim.world import World

OVER = (Phase.SUCCEEDED, Phase.FAILED, Phase.LOST)
"""Ends that come with the work, not from outside."""


class Outage(NamedTuple):
    """From when to when the whole platform was down."""

    begin: float
    end: float


@dataclass(frozen=True)
class Past:
    """What really happened, as far as it is no policy's doing. Times are Unix seconds."""

    jobs: Sequence[PastJob]
    """In the order of their arrival."""
    ground: Ground
    outages: Sequence[Outage]
    epoch: float
    """Where the time of snapshots begins."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Slots in use and slots that could be used, from each moment on. Times are Unix seconds."""

    at: Floats
    busy: Ints
    usable: Ints


@dataclass(frozen=True, slots=True)
class Imagined:
    """What became of the jobs of a past in another world, in their order. Unix seconds, NaN for never."""

    started: Floats
    finished: Floats
    refused: Flags
    promised: Floats
    """What was promised last; NaN where nothing was, or the owner gave it back."""
    rescales: Ints
    held: Ints
    """Slots at the end."""
    usage: Usage
    rounds: int


class Happening(NamedTuple):
    """Something from outside, in the time of snapshots."""

    at: float
    what: Wish | Shift | bool
    """A wish, other slots of a node, or whether the platform is down from now on."""
    job: int = -1
    """The row that a wish is about."""


def a_world(past: Past, rules: Rules, start_cost: float, rescale_cost: float) -> ShadowWorld:
    """The world before its first event."""
    workload, beyond = _workload(past)
    size = len(workload.sizes)
    rescale = frozen(np.full(size, rescale_cost))
    cost = Cost(frozen(np.full(size, start_cost)), rescale, rescale)
    return ShadowWorld(past, workload, beyond, cost, rules)


def live_along(world: ShadowWorld, policy: Policy, until: float) -> Iterator[float]:
    """Let a policy decide until a moment (Unix seconds); gives the time after each round."""
    end = until - world.epoch
    while (due := world.next_event()) <= end:
        world.advance_to(due)
        world.turn(policy)
        yield world.epoch + due
    world.advance_to(end)


class ShadowWorld(World):
    """A simulated world in which things happen from outside."""

    def __init__(self, past: Past, workload: Workload, beyond: Floats, cost: Cost, rules: Rules) -> None:
        super().__init__(workload, cost, rules)
        self.past, self.epoch = past, past.epoch
        self.beyond = beyond
        self.deadline: Floats = workload.trace.deadline.copy()
        self.urgent: Flags = np.array([job.urgent for job in past.jobs], dtype=np.bool_)
        self.away = False
        self.usable = 0
        self.rounds = 0
        self._slots = dict(past.ground.first)
        self._paused: set[int] = set()
        self._again: dict[int, float] = {}
        """The rows whose changed deadline is asked for, with the one before."""
        self._before_asking: Any = None
        """The policy's memory when the first of them began to ask."""
        self._happenings = _happenings(past)
        self._next = 0
        self._usage: list[tuple[float, int, int]] = []
        self._requested: Ints = workload.trace.requested
        self._bound: Mapping[int, Ints] = {}
        self._lay_out()

    def next_event(self) -> float:
        """When something happens next, inside or from outside."""
        outside = self._happenings[self._next].at if self._next < len(self._happenings) else inf
        return min(super().next_event(), outside)

    def advance_to(self, time: float) -> None:
        """Let the jobs work until then, and let happen what happens."""
        super().advance_to(time)
        while self._next < len(self._happenings) and self._happenings[self._next].at <= time:
            self._let_happen(self._happenings[self._next])
            self._next += 1

    def snapshot(self) -> Snapshot:
        """The picture that a round decides on, as the live platform would take it."""
        live = self.live
        return replace(
            super().snapshot(),
            urgent=self.urgent[live],
            deadline=self.deadline[live],
            left=self.left[live] + self.beyond[live],
            requested=self._requested[live],
            bound=self._bound_rows(),
        )

    def turn(self, policy: Policy) -> None:
        """Let the policy decide, if there is anything to decide on."""
        if self.usable:
            self.apply(self._decided(policy))
            self._again.clear()
            self.rounds += 1
        else:
            self.wake_at = inf
        busy = int(np.count_nonzero(self.layout >= 0))
        self._usage.append((self.epoch + self.now, busy, self.usable))

    def imagined(self) -> Imagined:
        """What has become of everybody."""
        at, busy, usable = zip(*self._usage, strict=True) if self._usage else ((), (), ())
        starts = self.changes - self.preempted
        return Imagined(
            started=frozen(self.started + self.epoch),
            finished=frozen(self.finished + self.epoch),
            refused=frozen(self.refused.copy()),
            promised=frozen(self.promised + self.epoch),
            rescales=frozen(np.maximum(starts - 1, 0)),
            held=frozen(self.held.copy()),
            usage=Usage(
                frozen(np.array(at, dtype=np.float64)),
                frozen(np.array(busy, dtype=np.int64)),
                frozen(np.array(usable, dtype=np.int64)),
            ),
            rounds=self.rounds,
        )

    # deciding

    def _decided(self, policy: Policy) -> Round:
        """A round; a changed deadline that cannot be promised is changed back, as on the live platform."""
        while True:
            decided = run_round(self.snapshot(), policy)
            vain = [job for job in self._again if (one := decided.verdicts.get(job)) and one.refused]
            if not vain:
                return decided
            for job in vain:
                self.deadline[job] = self._again.pop(job)
                self.undecided[job] = False
            self.memory = forgetting(self._before_asking, list(self._again))

    def _bound_rows(self) -> Mapping[int, Ints] | None:
        if not self._bound:
            return None
        rows = {row: self._bound[job] for row, job in enumerate(self.live.tolist()) if job in self._bound}
        return rows or None

    # what happens from outside

    def _let_happen(self, happening: Happening) -> None:
        match happening.what:
            case Wish() as wish:
                self._heed(happening.job, wish)
            case Shift() as shift:
                self._slots[shift.node] = shift.slots
                self._lay_out()
            case down:
                self.away = down
                self._lay_out()

    def _heed(self, job: int, wish: Wish) -> None:
        match wish.kind:
            case WishKind.CANCEL:
                self._take_out(job)
                self._paused.discard(job)
            case WishKind.PAUSE if job in self.live:
                self._take_out(job)
                self.promised[job] = nan
                self._paused.add(job)
            case WishKind.RESUME if job in self._paused:
                self._paused.remove(job)
                self._let_in(job)
            case WishKind.URGENT | WishKind.NORMAL:
                self.urgent[job] = wish.kind is WishKind.URGENT
            case WishKind.DEADLINE:
                self._change_deadline(job, wish.deadline)

    def _change_deadline(self, job: int, deadline: float | None) -> None:
        before = float(self.deadline[job])
        self.deadline[job] = inf if deadline is None else deadline - self.epoch
        if job not in self.live or self.undecided[job] or deadline is None:
            return
        if not self._again:
            self._before_asking = self.memory
        self._again.setdefault(job, before)
        self.memory = forgetting(self.memory, [job])
        self.undecided[job] = True

    def _take_out(self, job: int) -> None:
        self._give_back(job)
        self.live = self.live[self.live != job]

    def _give_back(self, job: int) -> None:
        self.held[job] = 0
        self.speed[job] = 0.0
        self.layout = frozen(np.where(self.layout == job, IDLE, self.layout))

    def _let_in(self, job: int) -> None:
        """Let a job ask like a newcomer."""
        self.live = np.sort(np.append(self.live, job))
        self.undecided[job] = True
        self.memory = forgetting(self.memory, [job])

    def _lay_out(self) -> None:
        """Bring the layout up to the nodes that are there; who has lost a slot holds nothing."""
        cluster = self.workload.cluster
        unusable = np.ones(cluster.total, dtype=np.bool_)
        for node, name in enumerate(cluster.node_names):
            first = int(cluster.first_slot[node])
            unusable[first : first + (0 if self.away else self._slots.get(name, 0))] = False
        for job in np.unique(self.layout[unusable & (self.layout >= 0)]).tolist():
            self._give_back(job)
        there = np.where(self.layout == UNUSABLE, IDLE, self.layout)
        self.layout = frozen(np.where(unusable, UNUSABLE, there))
        self.usable = int(np.count_nonzero(~unusable))
        self._fit_in()

    def _fit_in(self) -> None:
        """What follows from the slots that there are: sizes, places, and who may ask again."""
        jobs = self.past.jobs
        if self.usable:
            wanted = (size_for(_fitting(job, self.past), job.wanted, self.usable) for job in jobs)
            self._requested = np.fromiter(wanted, dtype=np.int64, count=len(jobs))
        names = self.workload.cluster.node_names
        self._bound = {
            row: frozen(np.array([self._slots.get(name, 0) if name == job.node else 0 for name in names]))
            for row, job in enumerate(jobs)
            if job.node
        }
        for row in np.flatnonzero(self.refused).tolist():
            if self.reason[row] == Why.TOO_LARGE and row not in self.live:
                self.refused[row], self.reason[row] = False, ""
                self._let_in(row)


def _happenings(past: Past) -> list[Happening]:
    """Everything from outside in the order of time, in the time of snapshots."""
    found = [
        Happening(wish.at - past.epoch, wish, row) for row, job in enumerate(past.jobs) for wish in job.wishes
    ]
    found += [Happening(shift.at - past.epoch, shift) for shift in past.ground.shifts]
    for begin, end in past.outages:
        found += [Happening(begin - past.epoch, True), Happening(end - past.epoch, False)]
    return sorted(found, key=lambda happening: happening.at)


def _fitting(job: PastJob, past: Past) -> Rates:
    """The sizes that fit the nodes that ever were; if there is none, one that no cluster of that time had."""
    within = past.ground.slots.get(job.node, 0) if job.node else past.ground.total
    fitting = tuple((size, rate) for size, rate in job.rates if size <= within)
    return fitting or ((past.ground.total + 1, 1.0),)


def _work(job: PastJob) -> tuple[float, float]:
    """The steps after which a job ends, and how many more policies believe it to have."""
    total = UNKNOWN_LEFT if job.total is None else job.total
    if job.course.phase not in OVER or (job.course.phase is Phase.SUCCEEDED and job.total is not None):
        return total, 0.0
    done = max(job.done, SHORTEST * job.rates[0][1])
    return done, max(total - done, 0.0)


def _workload(past: Past) -> tuple[Workload, Floats]:
    jobs = past.jobs
    rates = [_fitting(job, past) for job in jobs]
    sizes = sorted({size for one in rates for size, _ in one} or {1})
    column = {size: index for index, size in enumerate(sizes)}
    rate = np.zeros((len(jobs), len(sizes)))
    for row, one in enumerate(rates):
        for size, speed in one:
            rate[row, column[size]] = speed
    work = np.array([_work(job) for job in jobs]).reshape(len(jobs), 2)
    workload = Workload(
        _trace(past, rates, work[:, 0]),
        cluster_of(past.ground.slots or {"": 1}, "live"),  # one that nobody can use, if there was none
        Profiles("live", "live", {}),
        frozen(np.array(sizes, dtype=np.int64)),
        frozen(rate),
    )
    return workload, work[:, 1].copy()


def _trace(past: Past, rates: Sequence[Rates], steps: Floats) -> Trace:
    jobs = past.jobs
    numbers = frozen(np.arange(len(jobs), dtype=np.int64))
    deadline = [inf if job.deadline is None else job.deadline - past.epoch for job in jobs]
    wanted = [size_for(one, job.wanted, past.ground.total) for one, job in zip(rates, jobs, strict=True)]
    requested = np.array(wanted, dtype=np.int64)
    return Trace(
        name="live",
        source="live",
        ids=tuple(job.id for job in jobs),
        models=("",) * len(jobs),
        batch=frozen(np.ones(len(jobs), dtype=np.int64)),
        submitted=frozen(np.array([job.arrived - past.epoch for job in jobs])),
        steps=frozen(steps.copy()),
        deadline=frozen(np.array(deadline)),
        best_effort=frozen(np.isinf(deadline)),
        requested=frozen(requested),
        duration=frozen(np.ones(len(jobs))),
        position=numbers,
        line=numbers,
    )
