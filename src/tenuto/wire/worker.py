"""What is said about workers between controller and supervisors. Standard library only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True, order=True)
class WorkerId:
    """One process of one generation of a job. It is started at most once."""

    job: str
    generation: int
    role: str
    rank: int
    """Within its role."""

    def __str__(self) -> str:
        return f"{self.job}.{self.generation}.{self.role}.{self.rank}"

    @classmethod
    def parse(cls, text: str) -> WorkerId:
        """Read what `str` wrote. Raises ValueError for anything else."""
        job, generation, role, rank = text.rsplit(".", 3)
        return cls(job, _number(generation), role, _number(rank))


def _number(text: str) -> int:
    """A generation or a rank; both fit into 32 bits everywhere, and are written in one way only."""
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{text[:20]!r} is no generation or rank")
    return int(text)


WORKER = "worker"
"""The role that trains and takes slots; others stand beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOrder:
    """Everything a supervisor must know to start one worker."""

    id: WorkerId
    node: str
    slot: int | None
    """The node's slot that it takes; the workers that are there now must have gone first, unless both share."""
    argv: tuple[str, ...]
    env: Mapping[str, str]
    """Added to what workers inherit of the supervisor's environment; an empty value is set as such."""
    cwd: str = ""
    """The supervisor's own, if empty."""
    path_first: str = ""
    """A directory that comes first in PATH, before whatever PATH is there on the node or in `env`."""
    environment: str = ""
    """The job's environment as its owner named it; without it the worker is not started."""
    setup: str = ""
    """A shell command line that is run once per job and node before the first worker."""
    memory: int | None = None
    cpus: float | None = None
    files: int | None = None
    grace: float = 30.0
    linked: bool = False
    """It rescales in place: it gets a directory that it shares with its supervisor (`wire.membership`)."""
    shares: bool = False
    """It may be on its slot together with workers of other jobs that share too. Who is to leave shares no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewOrder:
    """The workers that shall train together, of a job that rescales in place.

    Every node with a worker of the job is told, also those whose workers are to leave. The node that leads makes
    memberships of it (`wire.membership`) as the workers come and go, and tells the others.
    """

    job: str
    plan: int
    """The job's generation when this was decided; orders with a higher one are newer."""
    members: tuple[WorkerId, ...]
    """In the order of ranks; empty if all are to leave."""
    lead: str
    """A node."""
    peers: Mapping[str, str]
    """Where the supervisor of each node of the job listens for the others: `host:port`."""
    hosts: Mapping[str, str]
    """Where workers on each node of the job are reached."""
    secret: str = ""
    """With which the supervisors of these nodes authenticate their messages about the job. The engine sets it."""


class WorkerState(StrEnum):
    """Where a worker is."""

    WAITING = "waiting"
    """Ordered; its slot or its setup is not ready."""
    RUNNING = "running"
    STOPPING = "stopping"
    """It was told to end."""
    EXITED = "exited"
    """Gone for certain, with its whole process group."""


class ExitReason(StrEnum):
    """Why a worker is gone, beyond its exit code."""

    ENDED = "ended"
    """By itself."""
    STOPPED = "stopped"
    """It was told to end."""
    OUT_OF_MEMORY = "out_of_memory"
    VANISHED = "vanished"
    """Nobody saw it end: its shim is gone and left no exit code."""
    NOT_STARTED = "not_started"
    """The command could not be started; `message` says why."""
    SETUP_FAILED = "setup_failed"
    DEAD_MAN = "dead_man"
    """The supervisor lost the server for longer than it may."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSeen:
    """One worker as its supervisor sees it."""

    id: WorkerId
    node: str
    state: WorkerState
    slot: int | None = None
    pid: int | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    """As a shell tells it: 128 + n after signal n."""
    reason: ExitReason | None = None
    message: str = ""
    step: float | None = None
    """The last step that the worker reported (see `wire.env.REPORT`)."""
    data: Mapping[str, float] = field(default_factory=dict)
    """Whatever other numbers it reported with that step."""
    generation: int | None = None
    """The membership it has joined last, for jobs that rescale in place."""
    stage: str = ""
    """Where it stands (`wire.status.Stage`, in lower case), for jobs that rescale in place."""
