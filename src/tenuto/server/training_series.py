"""What workers tell of their steps, on the axis of time: each batch of records becomes points of its job's subjects.

Nothing is read twice: a worker's rate follows from its record and the one before it, which is remembered. What is
remembered is bounded, and may be lost at any moment: the next record of each worker is enough to go on.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tenuto.model.job import Job
from tenuto.model.series import JOB, Points, Subject
from tenuto.server.telling import node_of
from tenuto.store.base import Attempt
from tenuto.store.series.base import SeriesStore
from tenuto.store.steps import WORKER_ITSELF, Record, Stream
from tenuto.wire import records as kinds
from tenuto.wire.worker import WORKER, WorkerId

log = logging.getLogger(__name__)

MOST_NAMES = 200
"""Scalars of one job; those that come later are left to the series by step."""
LONGEST_NAME = 100
AHEAD = 600.0
"""Seconds by which a node's clock may be ahead of the server's; what is told of later moments is no history."""
PHASES = ("warm_up_ms", "agree_ms", "form_ms", "transfer_ms", "first_step_ms", "pause_ms")
WHOLE = ("step", "samples", "samples_per_second", "workers", "generation")
_MOST_JOBS = 10_000
_MOST_WORKERS = 4096
Row = Mapping[str, float | None]


@dataclass(slots=True)
class _Worker:
    """What is remembered of one worker."""

    node: str = ""
    generation: int = -1
    step: int = 0
    samples: float | None = None


@dataclass(slots=True)
class _Course:
    """What is remembered of one job."""

    workers: dict[WorkerId, _Worker] = field(default_factory=dict)
    generation: int = -1
    seats: dict[int, str] = field(default_factory=dict)
    """The nodes of that generation's ranks, as far as they have told anything."""
    names: set[str] = field(default_factory=set)
    full: bool = False
    heard: float = float("-inf")
    """The moment of the newest record of its first worker."""

    def worker(self, id_: WorkerId) -> _Worker:
        """One worker."""
        if id_ not in self.workers and len(self.workers) >= _MOST_WORKERS:
            self.workers.pop(next(iter(self.workers)))
        return self.workers.setdefault(id_, _Worker())


class TrainingSeries:
    """Feeds the history of numbers with what jobs tell. Safe to call from any thread."""

    def __init__(self, series: SeriesStore, clock: Callable[[], float], oldest: float) -> None:
        """`oldest`: seconds after which nothing is kept any more."""
        self._series = series
        self._clock = clock
        self._oldest = oldest
        self._lock = threading.Lock()
        self._courses: dict[str, _Course] = {}

    def note(
        self,
        job: Job,
        stream: Stream,
        records: Sequence[Record],
        attempts: Callable[[], Iterable[Attempt]],
    ) -> None:
        """Take in what a worker told, in its order; `attempts` tells where workers run.

        The records are stored already: whatever goes wrong here, nobody has to tell them once more.
        """
        now = self._clock()
        timely = [record for record in records if now - self._oldest <= record["at"] <= now + AHEAD]
        if stream.teller != WORKER_ITSELF or not timely:
            return
        try:
            self._series.add(self._points(job, stream.worker, timely, attempts))
        except Exception:
            log.exception("some of its numbers have no history", extra={"job": job.id})

    def _points(
        self,
        job: Job,
        id_: WorkerId,
        records: Sequence[Record],
        attempts: Callable[[], Iterable[Attempt]],
    ) -> list[Points]:
        with self._lock:
            course = self._course(job.id)
            worker = course.worker(id_)
        if not worker.node:
            worker.node = node_of(attempts(), id_)  # the store may take its time
        batch = _Batch(job, id_, course, worker)
        with self._lock:
            for record in records:
                batch.take(record)
        return batch.points()

    def _course(self, job: str) -> _Course:
        if job not in self._courses and len(self._courses) >= _MOST_JOBS:
            self._courses.pop(next(iter(self._courses)))
        return self._courses.setdefault(job, _Course())

    def heard(self, job: str) -> float:
        """The moment of the newest step that a job's first worker has told; minus infinity if there is none."""
        with self._lock:
            course = self._courses.get(job)
            return float("-inf") if course is None else course.heard

    def forget(self, job: str) -> None:
        """The job was deleted."""
        with self._lock:
            self._courses.pop(job, None)
        self._series.forget(JOB, job)


class _Batch:
    """Some records of one worker, on their way to becoming points."""

    def __init__(self, job: Job, worker: WorkerId, course: _Course, known: _Worker) -> None:
        self._job = job
        self._worker = worker
        self._course = course
        self._known = known
        self._rows: dict[str, list[tuple[float, Row]]] = {}

    def take(self, record: Record) -> None:
        """Add one record."""
        at = float(record["at"])
        if record["kind"] == kinds.RESCALE:
            sizes = {name: number(record.get(name)) for name in ("before", "after", "moved_bytes")}
            self._add("rescale", at, {**{name: number(record.get(name)) for name in PHASES}, **sizes})
        if record["kind"] == kinds.STEP:
            self._step(record, at)

    def points(self) -> list[Points]:
        """Everything, by subject; what one row does not know is None."""
        found = []
        for part, rows in self._rows.items():
            names = dict.fromkeys(name for _, row in rows for name in row)
            columns = {name: [row.get(name) for _, row in rows] for name in names}
            subject = Subject(JOB, self._job.id, part)
            found.append(Points(subject=subject, at=[at for at, _ in rows], values=columns))
        return found

    def _step(self, record: Record, at: float) -> None:
        rank = self._rank(record)
        world = number(record.get("world")) or float(self._job.workers)
        scalars = self._scalars(record.get("values") or {})
        self._sit(record["generation"], rank)
        own = {
            "step": float(record["step"]),
            "seconds": number(record.get("seconds")),
            "samples_per_second": self._rate(record, world),
            **{f"values.{name}": value for name, value in scalars.items()},
        }
        worker = self._worker
        self._add(f"worker:{worker.generation}.{worker.role}.{worker.rank}", at, own)
        if rank == 0 and worker.role == WORKER:
            self._whole(record, at, world)
            if scalars:
                self._add("values", at, scalars)

    def _whole(self, record: Record, at: float, world: float) -> None:
        """The first worker speaks for the job, and for each node by its share of the workers."""
        rate = number(record.get("samples_per_second"))
        told = (
            float(record["step"]),
            number(record.get("samples")),
            rate,
            world,
            float(record["generation"]),
        )
        self._add("", at, dict(zip(WHOLE, told, strict=True)))
        for node, workers in self._by_node(world).items():
            share = None if rate is None else rate * workers / world
            self._add(f"node:{node}", at, {"samples_per_second": share, "workers": float(workers)})
        self._course.heard = max(self._course.heard, at)

    def _rate(self, record: Record, world: float) -> float | None:
        """Samples a second of one worker: those of the job since its record before, shared by all workers."""
        seconds, samples = number(record.get("seconds")), number(record.get("samples"))
        known, step = self._known, int(record["step"])
        before = known.samples if known.generation == record["generation"] and known.step < step else None
        since = 0 if before is None else known.step
        known.generation, known.step, known.samples = record["generation"], step, samples
        whole = number(record.get("samples_per_second"))
        if whole is not None and world:
            return whole / world
        if not seconds or samples is None or step <= since or not world:
            return None
        return (samples - (before or 0.0)) / (step - since) / seconds / world

    def _rank(self, record: Record) -> int:
        rank = record.get("rank")
        return rank if isinstance(rank, int) else self._worker.rank

    def _sit(self, generation: int, rank: int) -> None:
        if self._worker.role != WORKER or generation < self._course.generation:
            return
        if generation > self._course.generation:
            self._course.generation, self._course.seats = generation, {}
        if self._known.node and 0 <= rank < _MOST_WORKERS:
            self._course.seats[rank] = self._known.node

    def _by_node(self, world: float) -> Mapping[str, int]:
        """Workers on each node: as they have told if all have, else as the job's slots have it."""
        seats = self._course.seats
        if len(seats) == world:
            return {node: list(seats.values()).count(node) for node in dict.fromkeys(seats.values())}
        placed = {node: len(numbers) for node, numbers in self._job.places.items()}
        return placed if sum(placed.values()) == world else {}

    def _scalars(self, values: Mapping[str, Any]) -> dict[str, float | None]:
        kept: dict[str, float | None] = {}
        for name, value in values.items():
            if self._is_welcome(name):
                kept[name] = number(value)
        return kept

    def _is_welcome(self, name: str) -> bool:
        names = self._course.names
        if name in names:
            return True
        if len(names) < MOST_NAMES and 0 < len(name) <= LONGEST_NAME:
            names.add(name)
            return True
        if not self._course.full:
            self._course.full = True
            log.warning(
                "of the values that it reports no more than %d, with names of %d characters at most, have a history",
                *(MOST_NAMES, LONGEST_NAME),
                extra={"job": self._job.id},
            )
        return False

    def _add(self, part: str, at: float, row: Row) -> None:
        self._rows.setdefault(part, []).append((at, row))


def number(value: object) -> float | None:
    """A value that can be drawn, as a float."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        return float(value) if plain and isfinite(value) else None  # type: ignore[arg-type]
    except OverflowError:
        return None
