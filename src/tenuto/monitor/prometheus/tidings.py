"""Counts events: everything that is decided and that happens to jobs and nodes is one, whoever did it."""

from __future__ import annotations

from typing import Any

from tenuto.model.event import Event
from tenuto.model.job import Job, Reply
from tenuto.model.node import NodeState
from tenuto.model.phase import ENDED, Phase
from tenuto.monitor.prometheus.counts import OTHER, RESCALE_PHASES, Counts
from tenuto.wire import records

_REPLIES = frozenset(map(str, Reply))
_ENDED = frozenset(map(str, ENDED))
_WAITING = (str(Phase.SUBMITTED), str(Phase.QUEUED))


def needs_job(event: Event) -> bool:
    """Whether the record of its job must be looked at to count an event."""
    return event.kind == "phase" and (_begins(event) or event.after == Phase.SUCCEEDED)


def count(counts: Counts, event: Event, job: Job | None) -> None:
    """Count one event; `job` is its job's record, where it is needed and still there."""
    match event.kind:
        case "submitted":
            counts.submitted.inc()
        case "verdict":
            counts.verdicts.labels(event.after if event.after in _REPLIES else OTHER).inc()
        case "scaled":
            counts.allocations.labels(_change(event)).inc()
        case "phase":
            _phase(counts, event, job)
        case "policy" if event.after == "failed":
            counts.policy_failures.inc()
        case "node" if event.after == NodeState.OFFLINE:
            counts.node_losses.inc()
        case records.RESCALE if event.data.get("why") != "start":
            _rescale(counts, event)
        case records.CHECKPOINT:
            counts.checkpoints.labels("failed" if event.data.get("problem") else "written").inc()
        case records.LOSS:
            counts.workers_lost.inc()
        case records.HUNG:
            counts.workers_hung.inc()


def _begins(event: Event) -> bool:
    return event.before in _WAITING and event.after == Phase.STARTING


def _phase(counts: Counts, event: Event, job: Job | None) -> None:
    if event.after in _ENDED:
        counts.ended.labels(event.after).inc()
    if job is None:
        return
    first = job.started_at is None or job.started_at >= event.at
    if _begins(event) and first:
        counts.waited.observe(max(event.at - job.submitted_at, 0.0))
    if event.after == Phase.SUCCEEDED and job.ended_at is not None:
        for told in job.foretold:
            foretold = told.finish - told.at
            if foretold > 0.0:
                counts.eta_error.labels(told.moment).observe((job.ended_at - told.at) / foretold)


def _change(event: Event) -> str:
    before, after = _workers(event.before), _workers(event.after)
    if not before:
        return "start"
    if not after:
        return "preempt"
    return "move" if after == before else "grow" if after > before else "shrink"


def _workers(allocation: str) -> int:
    """How many workers `node-0:1,node-1:2` are."""
    counted = (part.rpartition(":")[2] for part in allocation.split(",") if part)
    return sum(int(one) for one in counted if one.isdigit())


def _rescale(counts: Counts, event: Event) -> None:
    for phase in RESCALE_PHASES:
        milliseconds: Any = event.data.get(f"{phase}_ms")
        if isinstance(milliseconds, int | float) and milliseconds >= 0.0:
            counts.rescale_phases.labels(phase).observe(milliseconds / 1000.0)
