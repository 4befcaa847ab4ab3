"""What there is to tell about the whole platform at one moment: gathered once, told to whoever keeps or draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.series import CLUSTER, Points, Subject

OUTCOMES = "promises"
"""The store's name for how many promises were kept, broken and withdrawn so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """A node as the store has it."""

    name: str
    state: NodeState
    slots: int
    used: int = 0
    """Slots on which somebody is."""
    held: Mapping[str, str] = field(default_factory=dict)
    """Its GPUs by their names in CUDA_VISIBLE_DEVICES, and the id of the job that holds each; empty if nobody does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """A job that has not ended."""

    id: str
    name: str
    owner: str
    state: Phase
    promise: PromiseState
    workers: int
    step: float | None = None
    left: float | None = None
    """Steps still to do; None if nobody knows."""
    deadline: float | None = None
    promised: float | None = None
    idle_slots: int = 0
    """Slots that it holds without using its GPUs."""
    finish: float | None = None
    """When it is expected to be done, as it was last foreseen."""
    slots_lost: float = 0.0
    """Its slots less its speed in units of what one slot does alone, by its curve; 0 if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The platform at a moment."""

    at: float
    jobs: Mapping[Phase, int] = field(default_factory=dict)
    """How many are in each phase, ended ones too."""
    promises: Mapping[PromiseState, int] = field(default_factory=dict)
    """Of jobs that have not ended."""
    outcomes: Mapping[PromiseState, int] = field(default_factory=dict)
    """What has become of all promises ever."""
    queue: int = 0
    """Jobs that wait for an answer or for slots."""
    oldest_wait: float = 0.0
    """Seconds that the one of them has waited which came first."""
    nodes: Sequence[NodeFacts] = ()
    live: Sequence[JobFacts] = ()
    """Jobs that have not ended, in the order in which there is room for them: whose promises are at risk or broken,
    then those with workers, then the others."""
    controller: str = "unknown"
    """What the controller does."""

    @property
    def slots(self) -> int:
        """Of all nodes that can be used."""
        return sum(node.slots for node in self.nodes if node.state is NodeState.ONLINE)

    @property
    def slots_used(self) -> int:
        """Of these, how many are."""
        return sum(node.used for node in self.nodes if node.state is NodeState.ONLINE)

    @property
    def efficiency(self) -> float | None:
        """The work that is done relative to what all slots would do alone; None without slots.

        The speed of each job relative to one slot, added up and divided by the slots, as `sim.report` tells it of a
        replay. A job without a curve counts as if it scaled in proportion.
        """
        if not self.slots:
            return None
        return max(self.slots_used - sum(job.slots_lost for job in self.live), 0.0) / self.slots


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    """How the history of numbers is doing. A point is all values of a subject at a moment."""

    points: int = 0
    """Taken in since the server began."""
    dropped: int = 0
    """Lost for good, as they could not be kept."""
    waiting: int = 0
    """Taken in, and not durable yet."""
    trouble: str = ""
    """Why it cannot be written, in a sentence; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What is kept, beside the most that may be kept; a quota of 0 is none."""

    log_bytes: int = 0
    log_quota_bytes: int = 0
    record_bytes: int = 0
    record_quota_bytes: int = 0
    events: int = 0
    event_quota: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushing:
    """How it goes with the database that gets all samples too."""

    written: int = 0
    """Points that it has taken since the server began."""
    dropped: int = 0
    """Points that were given up."""
    buffered: int = 0
    """Bytes that wait for it."""
    failures: int = 0
    """Attempts that failed."""
    trouble: str = ""
    """Why it does not take any, in a sentence; empty if it does."""


def cluster_points(facts: Facts) -> Points:
    """One moment of the whole cluster, for the history."""
    online = sum(node.state is NodeState.ONLINE for node in facts.nodes)
    values: dict[str, float | None] = {
        "slots": facts.slots,
        "slots_used": facts.slots_used,
        "nodes": len(facts.nodes),
        "nodes_online": online,
        "queue": facts.queue,
        "running": facts.jobs.get(Phase.RUNNING, 0),
        "promises_kept": facts.outcomes.get(PromiseState.KEPT, 0),
        "promises_at_risk": facts.promises.get(PromiseState.AT_RISK, 0),
        "promises_broken": facts.outcomes.get(PromiseState.BROKEN, 0),
        "efficiency": facts.efficiency,
    }
    return Points(
        subject=Subject(CLUSTER), at=[facts.at], values={name: [value] for name, value in values.items()}
    )
