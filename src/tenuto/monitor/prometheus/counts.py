"""What has happened since this server began, counted as it happens. Starts anew with it, as Prometheus expects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from threading import Lock
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from tenuto.model.job import ANSWERED, STARTED, Reply
from tenuto.model.phase import ENDED, Phase
from tenuto.monitor.prometheus import families as f
from tenuto.monitor.prometheus.families import Family
from tenuto.wire.records import STEP

OTHER = "other"
TICK_OUTCOMES = ("done", "again", "standby", "store", "failed")
ALLOCATION_CHANGES = ("start", "grow", "shrink", "move", "preempt")
RESCALE_PHASES = ("warm_up", "agree", "form", "transfer", "first_step", "pause")
CHECKPOINT_OUTCOMES = ("written", "failed")
MOST_PULSES = 10_000
"""Jobs whose newest numbers are remembered."""


@dataclass(slots=True)
class Pulse:
    """The newest that a job has told of its training."""

    samples: float | None = None
    samples_per_second: float | None = None
    loss: float | None = None


class Counts:
    """Safe to use from any thread. Has a registry of its own: two servers in one process count apart."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.submitted = self._counter(f.JOBS_SUBMITTED)
        self.ended = self._counter(f.JOBS_ENDED)
        self.eta_error = self._histogram(f.ETA_ERROR)
        self.waited = self._histogram(f.QUEUE_WAIT)
        self.last_tick = self._gauge(f.LAST_TICK)
        self.ticks = self._counter(f.TICKS)
        self.tick_duration = self._histogram(f.TICK_DURATION)
        self.round_duration = self._histogram(f.ROUND_DURATION)
        self.policy_failures = self._counter(f.POLICY_FAILURES)
        self.verdicts = self._counter(f.VERDICTS)
        self.allocations = self._counter(f.ALLOCATIONS)
        self.rescale_phases = self._histogram(f.RESCALE_PHASES)
        self.workers_lost = self._counter(f.WORKERS_LOST)
        self.workers_hung = self._counter(f.WORKERS_HUNG)
        self.checkpoints = self._counter(f.CHECKPOINTS)
        self.node_losses = self._counter(f.NODE_LOSSES)
        self.requests = self._counter(f.REQUESTS)
        self.request_duration = self._histogram(f.REQUEST_DURATION)
        self.commit_duration = self._histogram(f.COMMIT_DURATION)
        for metric, values in self._known_values():
            for value in values:
                metric.labels(value)
        self._pulses: dict[str, Pulse] = {}
        self._lock = Lock()

    def _known_values(self) -> Iterator[tuple[Counter | Histogram, Iterable[str]]]:
        """Values of labels that are known beforehand: a count that begins with 1 would be no increase."""
        yield self.ended, (phase.value for phase in Phase if phase in ENDED)
        yield self.eta_error, (ANSWERED, STARTED)
        yield self.ticks, TICK_OUTCOMES
        yield self.verdicts, (*map(str, Reply), OTHER)
        yield self.allocations, ALLOCATION_CHANGES
        yield self.rescale_phases, RESCALE_PHASES
        yield self.checkpoints, CHECKPOINT_OUTCOMES

    # the controller, which knows this as its onlooker

    def ticked(self, outcome: str, seconds: float, at: float) -> None:
        """The controller has looked at everything."""
        self.ticks.labels(outcome).inc()
        self.tick_duration.observe(seconds)
        self.last_tick.set(at)

    def ruled(self, seconds: float) -> None:
        """A round was run."""
        self.round_duration.observe(seconds)

    # the store

    def committed(self, seconds: float) -> None:
        """The store has made something durable."""
        self.commit_duration.observe(seconds)

    # what workers tell

    def told(self, job: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Remember the newest of what a job's first worker tells of its steps."""
        newest = [one for one in records if one["kind"] == STEP and one.get("rank") == 0][-1:]
        if not newest:
            return
        [record] = newest
        values = record.get("values")
        loss = values.get("loss") if isinstance(values, Mapping) else None
        with self._lock:
            if job not in self._pulses and len(self._pulses) >= MOST_PULSES:
                self._pulses.pop(next(iter(self._pulses)))
            pulse = self._pulses.setdefault(job, Pulse())
            pulse.samples = _number(record.get("samples"), pulse.samples)
            pulse.samples_per_second = _number(record.get("samples_per_second"), pulse.samples_per_second)
            pulse.loss = _number(loss, pulse.loss)

    def pulse(self, job: str) -> Pulse | None:
        """What was remembered of a job."""
        return self._pulses.get(job)

    def forget_others(self, jobs: Iterable[str]) -> None:
        """Remember only these jobs: the others have ended."""
        wanted = set(jobs)
        with self._lock:
            self._pulses = {job: pulse for job, pulse in self._pulses.items() if job in wanted}

    def _counter(self, family: Family) -> Counter:
        return Counter(family.name, family.help, family.labels, registry=self.registry)

    def _gauge(self, family: Family) -> Gauge:
        return Gauge(family.name, family.help, family.labels, registry=self.registry)

    def _histogram(self, family: Family) -> Histogram:
        return Histogram(
            family.name, family.help, family.labels, registry=self.registry, buckets=family.buckets
        )


def _number(value: object, otherwise: float | None) -> float | None:
    """What a record has; what was there before, if it says nothing. A loss may well be NaN."""
    if not isinstance(value, int | float):
        return otherwise
    return float(value) if isfinite(value) or value != value else otherwise
