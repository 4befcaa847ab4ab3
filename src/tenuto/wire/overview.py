"""What a screen shows of the whole: a few numbers, and as many rows of nodes, GPUs and jobs as fit on it."""

from __future__ import annotations

from tenuto.wire.replies import Answer, ClusterOut, OccupiedOut, UsageOut
from tenuto.wire.report import NamedOut
from tenuto.wire.sample import NodeSample


class NodeSampleOut(Answer):
    """The newest sample of a node."""

    node: str
    at: str
    age: float
    """Seconds that have passed since then, by the clock of the server."""
    sample: NodeSample
    """Every field is there, null for what nobody can tell; its own `at` is in Unix seconds."""


class StandingOut(Answer):
    """How promises stand."""

    holds: int
    at_risk: int
    kept: int
    """Within the last day."""
    broken: int
    """Within the last day, and of jobs that still run."""


class NodeRow(Answer):
    """A node in a line."""

    name: str
    state: str
    used: int
    """Slots."""
    total: int
    kinds: list[str]
    jobs: int
    occupied: OccupiedOut
    usage: UsageOut | None


class GpuRow(Answer):
    """A GPU in a line; null for what nobody can tell."""

    node: str
    state: str
    """Of the node."""
    index: int
    uuid: str | None = None
    name: str | None = None
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    power_limit: float | None = None
    temperature: float | None = None
    fan: float | None = None
    lost: bool = False
    jobs: list[NamedOut]
    """Who holds it, then guests."""


class JobRow(Answer):
    """A job in a line."""

    id: str
    name: str
    owner: str
    state: str
    wish: str
    workers: int
    min_workers: int
    max_workers: int
    done: float | None
    """Of its work, 0 to 1."""
    speed: float
    """Steps or epochs a second, as `unit` says."""
    unit: str
    samples_per_second: float | None
    """As it was last reported, within the last five minutes."""
    gpu: float | None
    """Percent, the mean of the GPUs that it is on."""
    eta: str | None
    deadline: str | None
    promised: str | None
    promise: str
    submitted_at: str
    elapsed: float
    idle_since: str | None
    """Since when it has held GPUs without using them."""
    nodes: list[str]
    """The first ten."""


class Rows(Answer):
    """How many rows there would be, if all of them fitted."""

    nodes: int
    gpus: int
    jobs: int


class QueueOut(Answer):
    """Those who wait for an answer or for slots."""

    waiting: int
    next_start: str | None = None
    """When the first of them is expected to get slots; null if nobody waits, or that cannot be foreseen."""
    empty_at: str | None = None
    """When the last of them is expected to have got some; null if that of any of them cannot be foreseen."""


class OverviewOut(Answer):
    """One look at the whole."""

    cluster: ClusterOut
    promises: StandingOut
    queue: QueueOut
    nodes: list[NodeRow]
    gpus: list[GpuRow]
    jobs: list[JobRow]
    of: Rows


class MapJobOut(Answer):
    """A job that is on some slot."""

    id: str
    name: str
    state: str
    promise: str


class MapOut(Answer):
    """Every slot of every node and who is on it, in columns: small enough to be told at every change."""

    nodes: list[str]
    """Their names, in the order in which they joined."""
    states: list[str]
    """Of each node."""
    slots: list[list[int]]
    """Of each node, for each of its slots: a place in `jobs`, or -1 if nobody is there. Holders come before guests."""
    jobs: list[MapJobOut]
