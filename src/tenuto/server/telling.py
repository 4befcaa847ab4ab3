"""What follows from records: some become events of their job, pauses and speeds are remembered for later decisions.

An event is added in the transaction that remembers how far the stream was read, so a batch that comes twice, or once
more after a crash between store and files, leaves its events once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from tenuto.forecast.measured import CURVES, Stretch, paces_key, refined
from tenuto.forecast.pauses import PAUSES, with_pauses
from tenuto.forecast.rates import being_measured
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.server.find import job_called
from tenuto.store.base import Attempt, Store, Tx
from tenuto.store.steps import SUPERVISOR, Record, Stream
from tenuto.wire import records as kinds
from tenuto.wire.worker import WorkerId

LEAST_STEPS, LEAST_SECONDS = 5, 1.0
"""A stretch that is shorter tells nothing certain about a speed."""
KEEP_EVERY = 30.0
"""Seconds of training after which a stretch is written down although it goes on."""
ANOTHER = 0.1
"""By how much a rate must differ from what was told before."""
_MOST_WATCHED = 10_000
_PLAIN = ("seq", "kind", "at")
"""Fields of a record that its event has elsewhere."""


def told_key(stream: Stream) -> str:
    """The store's name for how far a stream's events are written."""
    return f"told/{stream}"


def note_events(store: Store, job: Job, stream: Stream, records: Sequence[Record]) -> None:
    """Make events of those records that are worth one."""
    worth = [record for record in records if record["kind"] in kinds.EVENTS]
    if not worth:
        return

    def act(tx: Tx) -> None:
        known = job_called(tx, job.id)  # it may have been deleted meanwhile
        since = tx.meta(told_key(stream)) or 0
        new = [record for record in worth if record["seq"] >= since]
        if not new:
            return
        node = node_of(tx.attempts(job.id), stream.worker)
        for record in new:
            tx.add_event(_event(record, known.id, stream, node))
        tx.set_meta(told_key(stream), new[-1]["seq"] + 1)
        pauses = [record["pause_ms"] for record in new if _has_paused(record)]
        if pauses:
            tx.set_meta(PAUSES, with_pauses(tx.meta(PAUSES) or {}, known.spec.strategy, pauses))

    store.write(act)


def forget_told(tx: Tx, job: str, streams: Iterable[Stream]) -> None:
    """Remember nothing of a job that was deleted."""
    for stream in streams:
        tx.set_meta(told_key(stream), None)
    tx.set_meta(paces_key(job), None)


def node_of(attempts: Iterable[Attempt], worker: WorkerId) -> str:
    """Where a worker runs or ran; empty if that is not known."""
    found = (
        one.node
        for one in attempts
        if (one.generation, one.role, one.rank) == (worker.generation, worker.role, worker.rank)
    )
    return next(found, "")


def _has_paused(record: Record) -> bool:
    """Whether it tells for how long training stood still; a start is no pause."""
    measured = isinstance(record.get("pause_ms"), int | float)
    return record["kind"] == kinds.RESCALE and measured and record.get("why") != "start"


def _event(record: Record, job: str, stream: Stream, node: str) -> Event:
    kind = record["kind"]
    data = {name: _finite(value) for name, value in record.items() if name not in _PLAIN}
    return Event(
        kind=kind,
        at=float(record["at"]),
        actor=f"node:{node}" if stream.teller == SUPERVISOR else f"worker:{stream.worker}",
        job=job,
        node=str(record.get("node") or node),
        before=_count(record.get("before")) if kind == kinds.RESCALE else "",
        after=_count(record.get("after")) if kind == kinds.RESCALE else "",
        reason=_sentence(record),
        data={"worker": str(stream.worker), **data, "seq": record["seq"]},
    )


def _count(workers: object) -> str:
    return str(workers) if isinstance(workers, int) else ""


def _sentence(record: Record) -> str:
    """What happened, for people."""
    step = record["step"]
    match record["kind"]:
        case kinds.RESCALE:
            pause = record.get("pause_ms")
            paused = f", training paused for {pause:.0f} ms" if isinstance(pause, int | float) else ""
            return f"{record.get('why') or 'rescaled'}: generation {record['generation']} from step {step} on{paused}"
        case kinds.CHECKPOINT:
            if record.get("problem"):
                return f"checkpoint at step {step}: {record['problem']}"
            return f"checkpoint at step {step} ({record.get('why') or 'asked for'})"
        case kinds.SUMMARY:
            return str(record.get("sentence") or f"finished after {step} steps")
        case kinds.HUNG:
            return f"worker {record.get('worker', '')} has stood still for {_number(record.get('seconds')):.3g} s"
        case kinds.PROBLEM:
            return f"worker {record.get('worker', '')}: {record.get('problem') or 'its files cannot be used'}"
        case _:
            return f"worker {record.get('worker', '')} is gone ({record.get('reason') or 'no reason known'})"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _finite(value: Any) -> Any:
    """As strict JSON has it: a loss may be NaN, but not in an answer."""
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return value


@dataclass(slots=True)
class _Pace:
    """A stretch of steps of one job at one size, as it grows."""

    size: int
    generation: int
    last: int
    """The step of the newest record."""
    at: float
    kind: str
    steps: float = 0.0
    seconds: float = 0.0
    told: float = 0.0
    """The rate that the controller was told."""

    @property
    def rate(self) -> float:
        return self.steps / self.seconds

    @property
    def tells(self) -> bool:
        return self.steps >= LEAST_STEPS and self.seconds >= LEAST_SECONDS


@dataclass
class Paces:
    """How fast jobs go at their sizes, by the records of rank 0. In memory; what it finds goes to the store."""

    store: Store
    _paces: dict[str, _Pace] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, job: Job, stream: Stream, records: Sequence[Record]) -> None:
        """Add what rank 0 tells to what is known of the job's present stretch; write down what is worth it."""
        steps = [one for one in records if one["kind"] == kinds.STEP and one.get("rank") == 0]
        over = any(one["kind"] == kinds.SUMMARY for one in records)
        if job.spec.epochs or not (steps or over):
            return
        with self._lock:
            found = self._advance(job, stream, steps, over)
            pace = self._paces.get(job.id)
            news = pace if pace is not None and _is_worth_telling(job, pace) else None
        if found or news is not None:
            self.store.write(lambda tx: _keep(tx, job, found, news))

    def forget(self, job: str) -> None:
        """The job was deleted."""
        with self._lock:
            self._paces.pop(job, None)

    def _advance(self, job: Job, stream: Stream, steps: Iterable[Record], over: bool) -> list[_Pace]:
        found: list[_Pace] = []
        for record in steps:
            pace = self._paces.get(job.id)
            size = int(record.get("world") or 0)
            if pace is None or (pace.generation, pace.size) != (record["generation"], size):
                found += self._end(job.id)
                self._begin(job.id, stream, record, size)
            elif record["step"] > pace.last:
                self._lengthen(pace, record)
                if pace.tells and pace.seconds >= KEEP_EVERY:
                    found.append(pace)
                    self._begin(job.id, stream, record, size)
        return found + (self._end(job.id) if over else [])

    def _begin(self, job: str, stream: Stream, record: Record, size: int) -> None:
        if len(self._paces) >= _MOST_WATCHED:
            self._paces.pop(next(iter(self._paces)))
        kind = self.store.read(lambda tx: _kind_of(tx, stream.worker))
        self._paces[job] = _Pace(size, record["generation"], record["step"], record["at"], kind)

    @staticmethod
    def _lengthen(pace: _Pace, record: Record) -> None:
        each = record.get("seconds")
        if isinstance(each, int | float) and each > 0.0 and isfinite(each):
            steps = record["step"] - pace.last
            pace.steps += steps
            pace.seconds += steps * each
        pace.last, pace.at = record["step"], record["at"]

    def _end(self, job: str) -> list[_Pace]:
        pace = self._paces.pop(job, None)
        return [pace] if pace is not None and pace.tells else []


def _is_worth_telling(job: Job, pace: _Pace) -> bool:
    """Whether the controller waits for this, or would be wrong by much about a job without a curve."""
    if pace.seconds <= 0.0:
        return False
    if being_measured(job):
        return True
    if job.curve or not pace.tells or abs(pace.rate - pace.told) <= ANOTHER * pace.told:
        return False
    pace.told = pace.rate
    return True


def _keep(tx: Tx, job: Job, found: Iterable[_Pace], measured: _Pace | None) -> None:
    """Refine the curve of such jobs; tell the controller how fast one is that is being measured."""
    alone = not (job.spec.share or job.spec.cpu_only)  # else its speed says nothing of others of its kind
    for pace in found if alone else ():
        stretch = Stretch(size=pace.size, rate=pace.rate, at=pace.at)
        tx.set_meta(CURVES, refined(tx.meta(CURVES) or {}, job.spec, pace.kind, [stretch]))
    if measured is not None and tx.job(job.id) is not None:
        before: Mapping[str, Any] = tx.meta(paces_key(job.id)) or {}
        told = {"steps": measured.steps, "seconds": measured.seconds, "generation": measured.generation}
        tx.set_meta(paces_key(job.id), {**before, str(measured.size): told})


def _kind_of(tx: Tx, worker: WorkerId) -> str:
    """The kind of device that a worker has."""
    for one in tx.attempts(worker.job):
        if (one.generation, one.role, one.rank) == (worker.generation, worker.role, worker.rank):
            node = tx.node(one.node)
            if node is not None and one.slot is not None and one.slot < len(node.slots):
                return node.slots[one.slot].kind
    return "cpu"
