"""What the API answers: records as JSON. Times are RFC 3339 in UTC; null where there is nothing to tell."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

T = TypeVar("T")


class Answer(BaseModel):
    """Something that the server sends."""

    model_config = ConfigDict(frozen=True)


class ErrorOut(Answer):
    """Every error has this shape."""

    code: str
    """For machines."""
    message: str
    remedy: str = ""
    """What to do next."""
    field: str | None = None
    """The field of the request that is meant."""


class Page(Answer, Generic[T]):
    """One page of a list; `next` is the cursor of the following page, null at the end."""

    items: list[T]
    next: str | None = None


class OffersOut(Answer):
    """What would have made a refusal a yes."""

    earliest: str | None = None
    steps: float | None = None
    in_the_way: list[str] = []


class ContractOut(Answer):
    """The answer to a submission."""

    reply: str
    why: str
    message: str
    answered_at: str
    promised: str | None = None
    expected: str | None = None
    share: int | None = None
    firm_at: str | None = None
    offers: OffersOut


class PromiseOut(Answer):
    """What has become of the promise."""

    state: str
    breach: str


class ProgressOut(Answer):
    """How far the job is now."""

    left: float | None
    total: float | None
    done: float | None
    speed: float
    step: float | None
    unit: str


class PinOut(Answer):
    """A fixed number of workers."""

    workers: int
    nodes: dict[str, int]


class RestartsOut(Answer):
    """How often the job was started again."""

    failures: int
    losses: int


class MemberOut(Answer):
    """One worker of a job that rescales in place."""

    rank: int
    worker: str
    """As the logs name it: by the generation of its birth and its rank then."""
    node: str
    slot: int
    stage: str
    """`waiting`, `starting`, `ready`, `forming`, `training`, `leaving`, `finished` or `ended`."""
    generation: int
    """The generation that it has joined; 0 before the first."""


class EtaOut(Answer):
    """When a job will begin and be done, as things stand."""

    start: str | None
    """When it is expected to get its first slots; null if it had them, or that cannot be foreseen."""
    finish: str | None
    """As likely earlier as later."""
    finish_p90: str | None
    """Nine of ten such jobs are done by then."""
    as_of: str
    """When that was foreseen."""


class JobOut(Answer):
    """A job."""

    id: str
    number: int
    name: str
    owner: str
    state: str
    why: str
    message: str
    submitted_at: str
    started_at: str | None
    ended_at: str | None
    deadline: str | None
    priority: str
    workers: int
    min_workers: int
    max_workers: int
    pin: PinOut | None
    slots: dict[str, list[int]]
    """The slots that it holds on each node."""
    seats: dict[str, list[int]] = {}
    """Where it is without holding a slot: as a guest on slots of others, or on places for jobs without GPUs."""
    guest: bool = False
    """Whether it is on slots that others hold, or held when it came."""
    allocation: str
    idle_since: str | None = None
    """Since when it has used none of the GPUs that it holds; null if it does, or if nobody can tell."""
    shrunk: bool = False
    """Whether it is held at its least size for that."""
    generation: int
    members: list[MemberOut]
    """By rank; empty if it does not rescale in place."""
    ready: dict[str, str]
    restarts: RestartsOut
    promise: PromiseOut
    contract: ContractOut | None
    progress: ProgressOut
    eta: EtaOut | None = None
    """Null if it neither waits for slots nor runs, or if nobody has looked ahead yet."""
    curve: dict[str, float]
    curve_from: str = ""
    """Where the curve comes from, if neither the job's file nor its own measuring gave it."""
    interpolated: list[int]
    exit_code: int | None
    elapsed: float
    wish: str
    after: dict[str, str] | None
    resubmitted_from: str
    labels: dict[str, str]
    revision: int
    spec: dict[str, Any]


class AttemptOut(Answer):
    """One start of a worker."""

    job: str
    worker: str
    """As the logs name it."""
    generation: int
    role: str
    rank: int
    node: str
    slot: int | None
    pid: int | None
    started_at: str | None
    ended_at: str | None
    exit_code: int | None
    reason: str
    message: str


class SlotOut(Answer):
    """One slot of a node and who holds it."""

    index: int
    device: str
    kind: str
    job: str | None
    guests: list[str] = []
    """Jobs that share it without holding it."""


class CpuPlacesOut(Answer):
    """The places of a node for workers without a GPU."""

    total: int
    used: int
    jobs: list[str]


class OccupiedOut(Answer):
    """How much of a node jobs hold: CPU shares and places without a GPU together, and GPUs."""

    cpu: int
    cpu_total: int
    gpu: int
    gpu_total: int


class UsageOut(Answer):
    """What a node was doing when it was last sampled; null for what nobody can tell."""

    at: str
    age: float
    """Seconds that have passed since then, by the clock of the server."""
    cpu: float | None
    """Percent, of all cores together."""
    ram_free: int | None
    ram_total: int | None
    received: float | None
    """Bytes a second, over all interfaces."""
    sent: float | None
    gpu: float | None
    """Percent, the mean of its GPUs."""
    vram_free: int | None
    """Bytes, of all its GPUs together."""
    vram_total: int | None
    gpus_lost: int
    """GPUs that were there and that the driver does not find any more."""
    gpu_problem: str | None
    """Why nothing can be told of GPUs; null if all is well, or there are none."""


class NodeOut(Answer):
    """A node."""

    name: str
    number: int
    state: str
    address: str
    total: int
    used: int
    slots: list[SlotOut]
    cpu: CpuPlacesOut
    jobs: list[str]
    joined_at: str
    heard_at: str
    labels: dict[str, str]
    problem: str = ""
    """Why the node's supervisor can start no worker, for which the platform drains it; empty if it can."""
    occupied: OccupiedOut
    usage: UsageOut | None = None
    """Null if the node is offline, or nothing was sampled yet."""


class EventOut(Answer):
    """Something that happened."""

    id: int
    kind: str
    at: str
    actor: str
    job: str
    node: str
    before: str
    after: str
    reason: str
    data: dict[str, Any]


class EventsOut(Page[EventOut]):
    """One page of events."""

    gap: bool = False
    """Whether events that were asked for were removed: the page goes on at the oldest that is kept."""


class WantedOut(Answer):
    """How many records of a stream are stored."""

    next: int
    """The `seq` that is wanted next."""


class PointOut(Answer):
    """What a worker told after some steps."""

    step: int
    at: str
    generation: int
    """The membership it was in."""
    world: int | None
    rank: int | None
    """In that generation."""
    seconds: float | None
    """Of one step, the mean since the point before."""
    samples: float | None
    """Of the whole job, so far."""
    samples_per_second: float | None
    """Of the whole job; told by rank 0."""
    values: dict[str, float | None]
    """What the program reported; null for what is no number any more (NaN)."""


class SeriesOut(Answer):
    """The points of one worker, by step."""

    worker: str
    role: str
    generation: int
    """In which it was started."""
    node: str
    first: int = 0
    """The `seq` of its oldest record that is kept; above 0 if older ones were removed or lost."""
    points: list[PointOut]


class ThroughputOut(Answer):
    """Samples per second of a job or of its part on one node."""

    node: str
    """Empty for the whole job."""
    steps: list[int]
    samples_per_second: list[float]


class MetricsOut(Answer):
    """What a job's workers told of their steps."""

    job: str
    series: list[SeriesOut]
    throughput: list[ThroughputOut]
    next: int | None = None
    """`from_step` of the following page, null at the end."""


class SizeOut(Answer):
    """What is known about one number of workers."""

    steps_per_second: float
    spread: float
    """Between the fastest and the slowest stretch that counts, relative to the rate."""
    count: int
    """Stretches that were ever measured."""


class CurveOut(Answer):
    """A curve that runs have left behind."""

    key: str
    """The same for jobs of one kind on one kind of device."""
    name: str
    """Of the profile, or of the job that refined it last."""
    kind: str
    """Of the device."""
    refined_at: str
    sizes: dict[str, SizeOut]


class HostsOut(Answer):
    """The job's allocation, one `host:slots` for each node."""

    lines: list[str]


class PolicyOut(Answer):
    """The policy in force."""

    name: str
    summary: str
    promises: bool
    """Whether it gives promises."""
    settings: dict[str, Any]
    known: list[str]
    rescale_cost: float
    """Seconds that a rescale is reckoned with now."""
    rescale_cost_from: str
    """Where that comes from."""


class SlotsOut(Answer):
    """Slots of the whole cluster."""

    total: int
    usable: int
    used: int


class ControllerOut(Answer):
    """What the controller does."""

    state: str
    at: str | None
    term: int | None


class ClusterOut(Answer):
    """How the whole is doing."""

    version: str
    now: str
    slots: SlotsOut
    nodes: dict[str, int]
    wait_nodes: int
    jobs: dict[str, int]
    policy: str
    controller: ControllerOut
    draining: bool
    revision: int


class DeletedOut(Answer):
    """The jobs that are gone."""

    deleted: list[str]


class DownOut(Answer):
    """The platform is stopping."""

    draining: bool


class HealthOut(Answer):
    """The server answers."""

    status: str
    version: str
