"""A job: what a user asked for (`JobSpec`, never changed by a round) and what has become of it (`Job`).

Both are plain frozen values. Times are Unix seconds. The server writes wishes (`deadline`, `urgent`, `pin`,
`pause`, `cancel`), the controller writes everything below them; they meet only in the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tenuto.model.phase import PLANNED, Phase, PromiseState

IN_PLACE = frozenset({"allreduce"})
"""Strategies whose workers go over to another size without being started anew."""


class Condition(StrEnum):
    """Which end of the job before lets a job begin."""

    OK = "ok"
    ANY = "any"
    FAIL = "fail"


class StartOrder(StrEnum):
    """Whether workers are started together or one after the other, by rank."""

    PARALLEL = "parallel"
    ORDERED = "ordered"


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """The job that must have ended first."""

    job: str
    """Its id."""
    condition: Condition = Condition.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one worker may use; a worker over its memory is killed and the reason is told."""

    memory: int | None = None
    """Bytes, of the worker and all its children."""
    cpus: float | None = None
    files: int | None = None
    """Open files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """Further processes beside the workers, such as parameter servers. They take no slot, and end with the job."""

    count: int = 1
    run: tuple[str, ...] = ()
    """Its command; the job's own if empty."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often a job is started again."""

    failures: int = 0
    """After workers ended with an error."""
    losses: int = 3
    """After workers were lost (killed, or vanished with their node), which is not the job's fault.

    Only losses without progress in between are counted: a step beyond all that were reported before the last one
    begins the count anew.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Where the command keeps what it needs to go on."""

    dir: str = ""
    every: int | None = None
    """Steps between two checkpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """What a user asked for. Kept as it was given: no decision is ever written into it."""

    name: str
    run: tuple[str, ...]
    """The command as arguments; a shell command line is `("/bin/sh", "-c", line)`."""
    setup: str = ""
    """A shell command line, run once on every node before the job's first worker there."""
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ""
    environment: str = ""
    """A virtual or conda environment (its directory), or a Python program, whose `bin` comes first in PATH."""
    strategy: str = "command"
    min_workers: int = 1
    max_workers: int = 1
    preferred: int | None = None
    """The size that fixed-size policies give; `max_workers` if not said."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    limits: Limits = Limits()
    steps: float | None = None
    """All the work, in steps; None for "until it ends by itself", 0 for ever."""
    epochs: float | None = None
    """The same in epochs; then the curve is in epochs per second."""
    global_batch: int | None = None
    deadline: str = ""
    """As written: `+6h` or an ISO date; `Job.deadline` is what it came to."""
    curve: Mapping[int, float] = field(default_factory=dict)
    """Steps per second by number of workers, as the user gave it or as the profile said."""
    profile: str = ""
    auto: bool = False
    """The curve is to be measured before the deadline is answered."""
    checkpoint: Checkpoint | None = None
    urgent: bool = False
    share: bool = False
    """It may be on a slot together with another job that says so too, as long as neither has a deadline."""
    cpu_only: bool = False
    """Its workers take no slot and see no GPU."""
    idle: str = ""
    """What is done if it does not use its GPUs: TELL, SHRINK or IGNORE; what is done with all jobs if empty."""
    start: StartOrder = StartOrder.PARALLEL
    after: After | None = None
    node: str = ""
    """The only node it may run on."""
    labels: Mapping[str, str] = field(default_factory=dict)
    retry: Retry = Retry()
    max_duration: float | None = None
    """Seconds of running, over all attempts, after which it is stopped and FAILED."""
    grace: float = 30.0
    """Seconds between SIGTERM and SIGKILL."""
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def in_place(self) -> bool:
        """Whether workers that stay go on when others come or go."""
        return self.strategy in IN_PLACE

    @property
    def requested(self) -> int:
        """The size that fixed-size policies give."""
        return self.max_workers if self.preferred is None else self.preferred


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """A user's fixed number of workers, until it is released (`scale auto`)."""

    workers: int
    nodes: Mapping[str, int] = field(default_factory=dict)
    """Exactly so many on each node; empty if only the number matters."""


class Reply(StrEnum):
    """The answer to a submission."""

    ADMITTED = "admitted"
    QUEUED = "queued"
    MEASURING = "measuring"
    DECLINED = "declined"
    UNSCHEDULABLE = "unschedulable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """What would have made a refusal a yes."""

    earliest: float | None = None
    """The earliest deadline that can be promised now."""
    steps: float | None = None
    """The work that would fit before the deadline that was asked for."""
    in_the_way: tuple[str, ...] = ()
    """Promised jobs, each of which alone would make enough room by leaving."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """The answer with everything that was promised, or the reason and what could be had instead."""

    reply: Reply
    why: str
    """A code for machines: `model.plan.Why`, or one of the live platform's own."""
    message: str
    answered_at: float
    promised: float | None = None
    expected: float | None = None
    """The finish according to the reservation; for queued jobs an estimate that binds nobody."""
    share: int | None = None
    """The slots that are reserved."""
    firm_at: float | None = None
    """With MEASURING: when the firm answer will be given."""
    offers: Offers = Offers()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a job was at a moment, and how fast it has been going since then."""

    left: float
    """Steps still to do at `as_of`."""
    as_of: float
    speed: float = 0.0
    """Steps per second since `ready_at`, by the curve."""
    ready_at: float = float("-inf")
    """From when on the held slots make progress; earlier they pay for the last change."""
    changed_at: float = float("-inf")
    """When the job's slots last changed."""
    step: float | None = None
    """The last step that a worker reported; None if the command reports none."""


TELL, SHRINK, IGNORE = "tell", "shrink", "ignore"
"""What is done if a job does not use the GPUs that it holds."""
ANSWERED, STARTED = "answered", "started"
"""The moments at which a job's end is foretold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """A forecast of a job's end, kept to be compared with the truth."""

    moment: str
    """ANSWERED or STARTED."""
    at: float
    """When it was made."""
    finish: float
    """As likely earlier as later."""
    late: float
    """Nine of ten such jobs are done by then."""
    estimate: float
    """The finish before the past corrected it."""
    situation: str
    """What the correction depends on (`forecast.spread`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a job will have ended once all its workers are gone for certain."""

    phase: Phase
    why: str
    message: str
    exit_code: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One worker of a job that rescales in place, and its slot. Its birth names it for all its life."""

    born: int
    """The generation in which it was born."""
    rank: int
    """Its rank then."""
    node: str
    slot: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as the store knows it."""

    id: str
    number: int
    """Ascending in the order of submission; what rounds and policies know the job by."""
    revision: int
    """The store's revision at which this record was written."""
    spec: JobSpec
    owner: str
    submitted_at: float
    resubmitted_from: str = ""

    # wishes: the server writes them
    deadline: float | None = None
    urgent: bool = False
    pin: Pin | None = None
    pause: bool = False
    cancel: bool = False
    actor: str = ""
    """Who made the last wish."""

    # decisions and news: the controller writes them
    phase: Phase = Phase.SUBMITTED
    why: str = ""
    message: str = ""
    contract: Contract | None = None
    promise: PromiseState = PromiseState.NONE
    breach: str = ""
    """Why the promise is at risk or broken."""
    slots: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """The slots it holds: for each node their numbers there."""
    seats: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Where it is without holding a slot: a guest on slots of others, or on places for jobs without GPUs."""
    generation: int = 0
    """Counts the memberships; the workers of generation 0 were never started."""
    members: tuple[Member, ...] = ()
    """Who shall train together, by rank, if it rescales in place; one for each slot."""
    since: int = 0
    """If it rescales in place: the generation in which it was last started as a whole, from nothing or a checkpoint."""
    reconfigs: int = 0
    """Rescales in place since then."""
    port: int | None = None
    """Where the workers of this generation meet, on the node of rank 0."""
    progress: Progress
    curve: Mapping[int, float] = field(default_factory=dict)
    """Steps per second as rounds use them: given, from the profile, or measured."""
    pace: float | None = None
    """Steps per second of one worker, as records tell it, while nobody knows the curve; None if they do not."""
    curve_from: str = ""
    """Where it comes from, in words; empty if it was given with the job or measured by it."""
    reported_total: float | None = None
    """All the work as a worker reported it, where the spec does not say."""
    failures: int = 0
    losses: int = 0
    lost_in_a_row: int = 0
    """Losses without progress in between."""
    lost_at: float | None = None
    """The step that had been reported at the last loss."""
    not_before: float = 0.0
    """A job that failed is not started again earlier than this."""
    ran_for: float = 0.0
    """Seconds with slots in earlier generations."""
    slot_seconds: float = 0.0
    """The same, for each slot."""
    idle_since: float | None = None
    """Since when it has used none of the GPUs that it holds; None if it does, or if nobody can tell."""
    shrunk: bool = False
    """It is held at its least size for that, until it uses them again or its owner scales it."""
    foretold: tuple[Foretold, ...] = ()
    """What was said about its end: at most one forecast of each moment."""
    ending: Ending | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None

    @property
    def total(self) -> float | None:
        """All the work, in steps or epochs; None if nobody knows, or if it goes on for ever."""
        return self.spec.steps or self.spec.epochs or self.reported_total

    @property
    def is_planned(self) -> bool:
        """Whether rounds decide about it: not about jobs that take no slot.

        One that waits after a failure keeps its slots and its place in the plan: only its workers wait.
        """
        if self.spec.cpu_only:
            return False
        return self.phase in PLANNED and not (self.pause or self.cancel or self.ending is not None)

    @property
    def oldest(self) -> int:
        """Workers that were born in an earlier generation must have gone before those of today begin."""
        return self.since if self.spec.in_place else self.generation

    @property
    def places(self) -> Mapping[str, tuple[int, ...]]:
        """Where its workers are: on its slots, or on seats beside those of others. Never on both."""
        return self.slots or self.seats

    @property
    def is_guest(self) -> bool:
        """Whether it is on slots that it does not hold."""
        return bool(self.seats) and not self.spec.cpu_only

    @property
    def workers(self) -> int:
        """The places it has, one for each worker."""
        return sum(len(numbers) for numbers in self.places.values())
