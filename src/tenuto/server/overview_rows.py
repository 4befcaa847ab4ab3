"""Nodes, GPUs and jobs in lines: which are meant, in which order, and what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import ENDED, PLACED, STANDING, Phase, PromiseState
from tenuto.model.series import JOB, Subject
from tenuto.server.outlook import Seen
from tenuto.server.show import WorkersNow, done_share, moment, shown_job, shown_nodes
from tenuto.server.usage import gpu_count, gpus_of, mean, usage_of
from tenuto.store.base import StoreUnavailable
from tenuto.store.series.base import SeriesQuery, SeriesStore
from tenuto.wire.overview import GpuRow, JobRow, NodeRow
from tenuto.wire.report import NamedOut
from tenuto.wire.sample import GpuSample, NodeSample

T = TypeVar("T")
Gpu: TypeAlias = tuple[Node, GpuSample, int | None]
"""A GPU: where it is, what it does, and which slot it is."""
RECENT = 300.0
"""Seconds after which a throughput is no longer that of now."""
_MOST_NODES = 10
_RISKS = (PromiseState.BROKEN, PromiseState.AT_RISK, PromiseState.HOLDS)
_RISK = {state: rank for rank, state in enumerate((*_RISKS, *(set(PromiseState) - set(_RISKS))))}


def _most(value: float | None) -> float:
    """The largest first, what nobody knows last."""
    return inf if value is None else -value


def _need(job: Job) -> float:
    """Those first who need somebody: promises in danger, GPUs held for nothing, no place to run, a bad end."""
    if job.phase in ENDED:
        return 4 if job.phase in (Phase.FAILED, Phase.LOST) else inf
    if job.promise in (PromiseState.BROKEN, PromiseState.AT_RISK):
        return _RISK[job.promise]
    if job.idle_since is not None:
        return 2
    return 3 if job.phase is Phase.UNSCHEDULABLE else inf


NODE_ORDERS = ("number", "name", "state", "slots", "jobs", "cpu", "ram", "received", "sent", "gpu", "vram")
GPU_ORDERS: Mapping[str, Callable[[Gpu], Any]] = {
    "node": lambda gpu: (gpu[0].number, gpu[1].index),
    "utilisation": lambda gpu: _most(gpu[1].utilisation),
    "memory": lambda gpu: _most(gpu[1].memory_used),
    "power": lambda gpu: _most(gpu[1].power),
    "temperature": lambda gpu: _most(gpu[1].temperature),
    "name": lambda gpu: gpu[1].name or "",
}
JOB_ORDERS = ("state", "name", "owner", "workers", "done", "eta", "deadline", "promise", "need", "age")


def _use(order: str, sample: NodeSample) -> float | None:
    """What a sample tells of one of a node's parts."""
    match order:
        case "cpu":
            return sample.cpu
        case "ram":
            return None if sample.ram_used is None else sample.ram_used / (sample.ram_total or inf)
        case "gpu":
            return mean(gpu.utilisation for gpu in sample.gpus)
        case "vram":
            return usage_of(sample, sample.at).vram_free
        case _:
            return sum(getattr(net, order) or 0.0 for net in sample.nets) if sample.nets else None


def _ordered(found: Iterable[T], order: str, key: Callable[[T], Any]) -> list[T]:
    """In an order or the other way round; what has no place in it comes last either way."""
    ranked = [(key(one), one) for one in found]
    known = sorted((one for one in ranked if one[0] != inf), key=itemgetter(0), reverse=order.startswith("-"))
    return [one for _, one in (*known, *(one for one in ranked if one[0] == inf))]


class NodeRows:
    """The nodes and GPUs of one moment."""

    def __init__(
        self,
        nodes: Sequence[Node],
        live: Sequence[Job],
        samples: Mapping[str, NodeSample],
        cpu_jobs: int,
        now: float,
    ) -> None:
        self._nodes = nodes
        self._there: dict[str, list[Job]] = {}
        self._samples = samples
        self._cpu_jobs = cpu_jobs
        self._now = now
        self._named = {node.name: node for node in nodes}
        self._on: dict[tuple[str, int], list[Job]] = {}
        for job in live:
            self._seat(job)

    def _seat(self, job: Job) -> None:
        for name, numbers in job.places.items():
            self._there.setdefault(name, []).append(job)
            for number in () if job.spec.cpu_only else numbers:
                there = self._on.setdefault((name, number), [])
                there.insert(0 if job.slots else len(there), job)

    def sample(self, node: Node) -> NodeSample | None:
        """The newest sample of a node that is there."""
        return None if node.state is NodeState.OFFLINE else self._samples.get(node.name)

    def used(self, node: Node) -> int:
        """Slots that somebody is on."""
        return sum((node.name, number) in self._on for number in range(len(node.slots)))

    def nodes(self, text: str, order: str) -> list[Node]:
        """Those in whose name, state or labels a text stands."""

        def is_meant(node: Node) -> bool:
            return _has(text, node.name, str(node.state), *node.labels.values())

        name = order.removeprefix("-")
        return _ordered(filter(is_meant, self._nodes), order, lambda node: self._rank(name, node))

    def _rank(self, order: str, node: Node) -> Any:
        match order:
            case "number" | "name" | "state":
                return getattr(node, order)
            case "slots":
                return -self.used(node)
            case "jobs":
                return -len(self._there.get(node.name, ()))
            case _:
                sample = self.sample(node)
                return inf if sample is None else _most(_use(order, sample))

    def gpus(self, text: str, order: str) -> list[Gpu]:
        """Those in whose name, node or job a text stands."""
        found = ((node, gpu, slot) for node in self._nodes for gpu, slot in gpus_of(node, self.sample(node)))

        def is_meant(gpu: Gpu) -> bool:
            return _has(text, gpu[0].name, gpu[1].name or "", *(job.spec.name for job in self._jobs_on(gpu)))

        return _ordered(
            filter(is_meant, found) if text else found, order, GPU_ORDERS[order.removeprefix("-")]
        )

    def gpu_count(self) -> int:
        """How many there are, without a look at each."""
        return sum(gpu_count(node, self.sample(node)) for node in self._nodes)

    def _jobs_on(self, gpu: Gpu) -> list[Job]:
        return [] if gpu[2] is None else self._on.get((gpu[0].name, gpu[2]), [])

    def node_row(self, node: Node) -> NodeRow:
        """A node in a line."""
        (shown,) = shown_nodes([node], self._there.get(node.name, ()), self._cpu_jobs)
        sample = self.sample(node)
        return NodeRow(
            name=node.name,
            state=str(node.state),
            used=shown.used,
            total=shown.total,
            kinds=list(dict.fromkeys(slot.kind for slot in node.slots)),
            jobs=len(shown.jobs),
            occupied=shown.occupied,
            usage=None if sample is None else usage_of(sample, self._now),
        )

    def gpu_row(self, node: Node, gpu: GpuSample, slot: int | None) -> GpuRow:
        """A GPU in a line."""
        names = (field for field in GpuRow.model_fields if field not in ("node", "state", "jobs"))
        return GpuRow(
            node=node.name,
            state=str(node.state),
            jobs=[NamedOut(id=job.id, name=job.spec.name) for job in self._jobs_on((node, gpu, slot))],
            **{name: getattr(gpu, name) for name in names},
        )

    def use_by(self, job: Job) -> float | None:
        """How busy the GPUs are that a job is on."""
        found: list[float | None] = []
        for name, numbers in job.places.items():
            node = self._named.get(name)
            if node is not None and not job.spec.cpu_only:
                gpus = {slot: gpu.utilisation for gpu, slot in gpus_of(node, self.sample(node))}
                found += [gpus.get(number) for number in numbers]
        return mean(found)


class JobRows:
    """The jobs of one moment."""

    def __init__(self, series: SeriesStore, nodes: NodeRows, seen: Seen, now: float) -> None:
        self._series = series
        self._nodes = nodes
        self._seen = seen
        self._now = now
        self._is_history_away = False

    def those(self, text: str, jobs: Iterable[Job], order: str) -> list[Job]:
        """Those in whose name, owner or state a text stands, or whose id begins so."""

        def is_meant(job: Job) -> bool:
            return _has(text, job.spec.name, job.owner, str(job.phase)) or job.id.startswith(text)

        name = order.removeprefix("-")
        different = {job.id: job for job in jobs}.values()
        return _ordered(filter(is_meant, different), order, lambda job: self._rank(name, job))

    def _rank(self, order: str, job: Job) -> Any:
        match order:
            case "state":
                return STANDING[job.phase]
            case "promise":
                return _RISK[job.promise]
            case "need":
                return _need(job)
            case "name":
                return job.spec.name
            case "owner":
                return job.owner
            case "workers":
                return -job.workers
            case "eta":
                return self.finish(job)
            case "deadline":
                return inf if job.deadline is None else job.deadline
            case "done":
                return _most(self.done(job))
            case _:
                return -job.number

    def done(self, job: Job) -> float | None:
        """Which share of its work is done."""
        return done_share(job, self._now)

    def finish(self, job: Job) -> float:
        """When it will be done, as far as that is foreseen."""
        eta = self._seen.etas.get(job.id)
        return inf if eta is None or eta.finish is None else eta.finish

    def row(self, job: Job) -> JobRow:
        """A job in a line."""
        shown = shown_job(job, {}, WorkersNow({}), self._now)
        eta = self._seen.of(shown)
        return JobRow(
            id=job.id,
            name=job.spec.name,
            owner=job.owner,
            state=str(job.phase),
            wish=shown.wish,
            workers=job.workers,
            min_workers=job.spec.min_workers,
            max_workers=job.spec.max_workers,
            done=self.done(job),
            speed=shown.progress.speed,
            unit=shown.progress.unit,
            samples_per_second=self._throughput(job) if job.phase in PLACED else None,
            gpu=self._nodes.use_by(job) if job.phase in PLACED else None,
            eta=None if eta is None else eta.finish,
            deadline=moment(job.deadline),
            promised=None if job.contract is None else moment(job.contract.promised),
            promise=str(job.promise),
            submitted_at=shown.submitted_at,
            elapsed=shown.elapsed,
            idle_since=shown.idle_since,
            nodes=list(job.places)[:_MOST_NODES],
        )

    def _throughput(self, job: Job) -> float | None:
        """As it was reported last; unknown if the history does not answer, which is asked no second time then."""
        if self._is_history_away:
            return None
        try:
            return self._reported(job)
        except StoreUnavailable:
            self._is_history_away = True
            return None

    def _reported(self, job: Job) -> float | None:
        name = "samples_per_second"
        found = self._series.read(
            SeriesQuery(
                subject=Subject(JOB, job.id),
                since=self._now - RECENT,
                until=self._now + RECENT,
                names=frozenset({name}),
            )
        )
        known = [value for value in found.values.get(name, ()) if value is not None and value == value]
        return known[-1] if known else None


def _has(text: str, *places: str) -> bool:
    return not text or any(text in place.casefold() for place in places)
