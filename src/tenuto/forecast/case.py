"""What an explanation rests on, and the sentences that several states have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from tenuto.forecast.ahead import FOR_A_QUESTION
from tenuto.forecast.contract import written
from tenuto.forecast.dry_run import foreseen, reserved
from tenuto.forecast.future import Fate, Future, foresee
from tenuto.forecast.picture import Scene
from tenuto.forecast.spread import Past
from tenuto.forecast.stretch import Stretch
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import NodeState
from tenuto.model.phase import PLACED
from tenuto.policy.base import Policy
from tenuto.settings import Learning

MOST_HOLDERS = 5
"""Jobs in the way that are named."""
MOST_WINNERS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What records tell beside the scene."""

    halted: str = ""
    """Why nothing is decided at all now, as a code; empty if rounds are run."""
    sentence: str = ""
    """The same in words."""
    before: Job | None = None
    """The job that this one waits for."""
    scaled: Sequence[Event] = ()
    """The last change of the job's slots first, then those of others at the same moment."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Of the jobs in these events, by id."""
    others: Sequence[Policy] = ()
    """Policies that could rule instead."""


@dataclass(frozen=True)
class Case:
    """One job at one moment."""

    scene: Scene
    job: Job
    policy: Policy
    past: Past
    learning: Learning
    around: Around

    @cached_property
    def future(self) -> Future:
        """What becomes of everybody."""
        return foresee(self.scene, self.policy, self.past, FOR_A_QUESTION)

    @cached_property
    def row(self) -> int | None:
        """Where the job stands in it; None if rounds do not decide about it."""
        return self.future.picture.row_of(self.job.number) if self.job.is_planned else None

    @cached_property
    def fates(self) -> Mapping[str, Fate]:
        """What becomes of the job and of those it waits for, by id."""
        before = () if self.around.before is None else (self.around.before.id,)
        return self.future.fates([self.job.id, *before, *(job.id for job in self.holders)])

    @property
    def fate(self) -> Fate | None:
        """What becomes of the job itself."""
        return self.fates.get(self.job.id)

    @property
    def reserved(self) -> tuple[Stretch, ...]:
        """How many slots are promised to it when."""
        return () if self.row is None else reserved(self.future, self.row)

    @property
    def foreseen(self) -> tuple[Stretch, ...]:
        """How many slots it will probably have when."""
        return () if self.row is None else foreseen(self.future, self.row)

    def at(self, time: float | None) -> str:
        """A moment as it is written."""
        return "unknown" if time is None else written(time, self.scene.now)

    @cached_property
    def holders(self) -> tuple[Job, ...]:
        """Who holds slots where this job may run, the largest first."""
        where = self.nodes_allowed
        holders = [
            job
            for job in self.scene.jobs
            if job.phase in PLACED
            and job.slots
            and job.id != self.job.id
            and (where is None or not where.isdisjoint(job.slots))
        ]
        return tuple(sorted(holders, key=lambda job: (-slots_of(job), job.number))[:MOST_HOLDERS])

    @property
    def nodes_allowed(self) -> frozenset[str] | None:
        """The nodes that it is bound to; None if all will do."""
        pin = self.job.pin
        if pin is not None and pin.nodes:
            return frozenset(pin.nodes)
        return frozenset({self.job.spec.node}) if self.job.spec.node else None

    def unusable(self) -> str:
        """Which of the nodes that it is bound to cannot be used, and why; empty if all can."""
        states = {node.name: node.state for node in self.scene.nodes}
        for name in sorted(self.nodes_allowed or ()):
            if states.get(name) is not NodeState.ONLINE:
                state = str(states[name]) if name in states else "not there"
                return f"It may run on node {name} only, which is {state}."
        return ""


def called(job: Job) -> str:
    """A job by name and id."""
    return f"{job.spec.name} ({job.id})"


def slots_of(job: Job) -> int:
    """The slots that it holds; a guest holds none."""
    return sum(map(len, job.slots.values()))


def counted(count: int, what: str = "slot") -> str:
    """`1 slot`, `2 slots`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def told_eta(case: Case) -> list[str]:
    """When it begins and is done."""
    fate = case.fate
    if fate is None:
        return []
    begins = "" if case.job.phase in PLACED else f"begin {case.at(fate.eta.start)} and "
    if fate.eta.finish is None:
        later = (
            "" if fate.later_than in (None, inf) else f"; it is not done before {case.at(fate.later_than)}"
        )
        first = f"It is expected to begin {case.at(fate.eta.start)}. " if begins and fate.eta.start else ""
        return [f"{first}When it will be done cannot be foreseen{later}."]
    rarely = ""
    if fate.eta.late is not None and case.at(fate.eta.late) != case.at(fate.eta.finish):
        rarely = f" (nine times of ten by {case.at(fate.eta.late)})"
    return [f"It is expected to {begins}be done {case.at(fate.eta.finish)}{rarely}."]


def told_last_change(case: Case) -> list[str]:
    """How it came to the slots that it has, or lost those that it had, and who got slots at the same moment."""
    if not case.around.scaled:
        return []
    own, *others = case.around.scaled
    winners = [event for event in others if _slots(event.after) > _slots(event.before)]
    shrank = _slots(own.after) < _slots(own.before)
    said = f"Its last change, {case.at(own.at)}: from {own.before or 'no slots'} to {own.after or 'none'}"
    reason = f" ({own.reason})" if own.reason else ""
    if not shrank or not winners:
        return [f"{said}{reason}."]
    named = ", ".join(
        f"{case.around.names.get(event.job, event.job)} ({event.job}): {event.before or 'none'} to {event.after}"
        for event in winners[:MOST_WINNERS]
    )
    return [f"{said}{reason}. At the same moment others got slots: {named}."]


def _slots(allocation: str) -> int:
    """How many slots `node-0:2,node-1:1` are."""
    return sum(int(part.rpartition(":")[2]) for part in allocation.split(",") if part)
