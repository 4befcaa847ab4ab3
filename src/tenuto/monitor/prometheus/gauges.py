"""The platform as it is now, as gauges: the store's facts, the nodes' newest samples, the server's own state."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import tenuto
from tenuto.model.node import NodeState
from tenuto.model.phase import OPEN_PROMISES, Phase, PromiseState
from tenuto.monitor.facts import Facts, JobFacts, Keeping, NodeFacts, Pushing, Usage
from tenuto.monitor.prometheus import families as f
from tenuto.monitor.prometheus.counts import Pulse
from tenuto.monitor.prometheus.hardware import put_nodes
from tenuto.monitor.prometheus.sheet import Sheet
from tenuto.wire.sample import NodeSample

CONTROLLER_STATES = ("compiling", "deciding", "stopped")
OUTCOMES = (PromiseState.KEPT, PromiseState.BROKEN, PromiseState.WITHDRAWN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """Everything that is told of now."""

    facts: Facts | None
    """None if the store does not answer: then only the server itself is told."""
    samples: Mapping[str, NodeSample] = field(default_factory=dict)
    pulse: Callable[[str], Pulse | None] = lambda _: None
    period: float = 0.0
    """Seconds between two samples as set."""
    most_jobs: int = 200
    """Jobs that are told one by one."""
    listeners: int = 0
    keeping: Keeping = field(default_factory=Keeping)
    pushing: Pushing | None = None
    """None if no InfluxDB is set."""
    usage: Usage | None = None
    """None if it was not measured yet."""
    read_seconds: float = 0.0


def sheet_of(present: Present) -> Sheet:
    """Everything that is told of now, on one sheet."""
    sheet = Sheet()
    if present.facts is not None:
        _put_platform(sheet, present, present.facts)
    _put_server(sheet, present)
    return sheet


def _put_platform(sheet: Sheet, present: Present, facts: Facts) -> None:
    _put_jobs(sheet, facts)
    _put_slots(sheet, facts.nodes)
    put_nodes(sheet, facts.nodes, present.samples, facts.at)
    for job in facts.live[: present.most_jobs]:
        _put_job(sheet, job, present.pulse(job.id))
    sheet.put(f.LEFT_OUT, max(len(facts.live) - present.most_jobs, 0), "jobs")


def _put_jobs(sheet: Sheet, facts: Facts) -> None:
    for phase in Phase:
        sheet.put(f.JOBS, facts.jobs.get(phase, 0), phase.value)
    for state in (*sorted(OPEN_PROMISES, reverse=True), PromiseState.BROKEN):
        sheet.put(f.PROMISES, facts.promises.get(state, 0), state.value)
    for outcome in OUTCOMES:
        sheet.put(f.PROMISES_CLOSED, facts.outcomes.get(outcome, 0), outcome.value)
    idle = [job.idle_slots for job in facts.live if job.idle_slots]
    sheet.put(f.IDLE_JOBS, len(idle))
    sheet.put(f.IDLE_SLOTS, sum(idle))
    sheet.put(f.QUEUE, facts.queue)
    sheet.put(f.QUEUE_OLDEST, facts.oldest_wait)
    for doing in CONTROLLER_STATES:
        sheet.put(f.CONTROLLER_STATE, float(facts.controller == doing), doing)


def _put_slots(sheet: Sheet, nodes: Sequence[NodeFacts]) -> None:
    for state in NodeState:
        there = [node for node in nodes if node.state is state]
        used = sum(node.used for node in there)
        sheet.put(f.NODES, len(there), state.value)
        sheet.put(f.SLOTS, used, state.value, "used")
        sheet.put(f.SLOTS, sum(node.slots for node in there) - used, state.value, "free")


def _put_job(sheet: Sheet, job: JobFacts, pulse: Pulse | None) -> None:
    sheet.put(f.JOB_INFO, 1.0, job.id, job.name, job.owner, job.state.value)
    if job.promise is not PromiseState.NONE:
        sheet.put(f.JOB_PROMISE, 1.0, job.id, job.promise.value)
    sheet.put(f.JOB_WORKERS, job.workers, job.id)
    sheet.put(f.JOB_IDLE, float(job.idle_slots > 0), job.id)
    sheet.put(f.JOB_STEP, job.step, job.id)
    sheet.put(f.JOB_LEFT, job.left, job.id)
    sheet.put(f.JOB_DEADLINE, job.deadline, job.id)
    sheet.put(f.JOB_PROMISED, job.promised, job.id)
    sheet.put(f.JOB_FINISH, job.finish, job.id)
    if pulse is not None:
        sheet.put(f.JOB_SAMPLES, pulse.samples, job.id)
        sheet.put(f.JOB_PACE, pulse.samples_per_second if job.workers else 0.0, job.id)
        sheet.put(f.JOB_LOSS, pulse.loss, job.id)


def _put_server(sheet: Sheet, present: Present) -> None:
    sheet.put(f.SAMPLE_PERIOD, present.period)
    sheet.put(f.LISTENERS, present.listeners)
    sheet.put(f.STORE_UP, float(present.facts is not None))
    sheet.put(f.READ_DURATION, present.read_seconds)
    keeping, pushing = present.keeping, present.pushing
    sheet.put(f.HISTORY_POINTS, keeping.points)
    sheet.put(f.HISTORY_DROPPED, keeping.dropped)
    sheet.put(f.HISTORY_WAITING, keeping.waiting)
    sheet.put(f.HISTORY_UP, float(not keeping.trouble))
    if pushing is not None:
        sheet.put(f.INFLUX_WRITTEN, pushing.written)
        sheet.put(f.INFLUX_DROPPED, pushing.dropped)
        sheet.put(f.INFLUX_BUFFERED, pushing.buffered)
        sheet.put(f.INFLUX_FAILURES, pushing.failures)
        sheet.put(f.INFLUX_UP, float(not pushing.trouble))
    if present.usage is not None:
        _put_usage(sheet, present.usage)
    sheet.put(f.BUILD, 1.0, tenuto.__version__, platform.python_version())


def _put_usage(sheet: Sheet, usage: Usage) -> None:
    sheet.put(f.LOG_BYTES, usage.log_bytes)
    sheet.put(f.LOG_QUOTA, usage.log_quota_bytes)
    sheet.put(f.RECORD_BYTES, usage.record_bytes)
    sheet.put(f.RECORD_QUOTA, usage.record_quota_bytes)
    sheet.put(f.EVENTS_KEPT, usage.events)
    sheet.put(f.EVENT_QUOTA, usage.event_quota)
