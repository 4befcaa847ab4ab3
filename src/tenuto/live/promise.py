"""What becomes of promises: kept, at risk, broken, and by what. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tenuto.live.change import Change, counted
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.phase import OPEN_PROMISES, Phase, PromiseState
from tenuto.model.plan import Why
from tenuto.model.reservations import Reservations
from tenuto.policy.chronus.book import Leases
from tenuto.wire.quantities import rfc3339

PATIENCE = 1e-3
"""Seconds after the promised moment in which a job's end may still be on its way to us."""


def kept_up(change: Change) -> Change:
    """Note a promised moment that has passed, and what its owner did to the deadline."""
    job = change.job
    if job.promise not in OPEN_PROMISES or job.contract is None or job.contract.promised is None:
        return change
    if job.deadline is None:
        return _given_up(change, job.contract)
    if job.deadline > job.contract.promised:
        return _extended(change, job.contract, job.deadline)
    if (
        change.at > job.contract.promised + PATIENCE
        and job.ending is None
        and job.deadline == job.contract.promised
    ):
        return change.promise(PromiseState.BROKEN, cause(change))
    return change


def closed(change: Change) -> Change:
    """Say what has become of the promise of a job that has ended."""
    job = change.job
    if job.promise not in OPEN_PROMISES or job.contract is None or job.contract.promised is None:
        return change
    if job.phase is Phase.SUCCEEDED:
        assert job.ended_at is not None
        if job.ended_at <= job.contract.promised:
            return change.promise(PromiseState.KEPT)
        return change.promise(PromiseState.BROKEN, cause(change))
    if job.phase in (Phase.CANCELLED, Phase.PAUSED):
        return change.promise(PromiseState.WITHDRAWN, job.message)
    return change.promise(PromiseState.BROKEN, job.message)


def cause(change: Change, others: Iterable[Job] = ()) -> str:
    """Why a promise is at risk or broken: a loss, a failure, a slow command, or somebody's force."""
    job = change.job
    if job.losses:
        return f"a node or its workers were lost ({job.losses} times)"
    if job.failures:
        return f"its workers failed ({job.failures} times)"
    if job.pin is not None:
        return f"forced by {job.actor or 'a user'}: pinned to {counted(job.pin.workers)}"
    if job.slots and (change.left <= 0.0 or job.progress.step is not None):
        return "slower than its curve"
    for other in others:
        if other.pin is not None and other.id != job.id:
            return f"forced by {other.actor or 'a user'}: job {other.id} is pinned to {counted(other.pin.workers)}"
    return job.breach or "the slots it was promised are not there: nodes were lost, or the policy was changed"


def late_by_plan(memory: Any, number: int, promised: float) -> bool | None:
    """Whether the stored plan itself ends after the promised moment (in the snapshot's time); None without a plan."""
    if isinstance(memory, Reservations):
        ends = memory.end[memory.number == number]
        return bool(len(ends)) and bool(ends[0] > promised + PATIENCE)
    if isinstance(memory, Leases):
        [rows] = (memory.number == number).nonzero()
        if len(rows) == 0 or memory.parts[rows[0]] == 0:
            return False
        last = memory.planned[int(memory.parts[: rows[0]].sum())]
        return bool((last + 1) * memory.length > promised + PATIENCE)
    return None


def _given_up(change: Change, contract: Contract) -> Change:
    told = replace(
        contract,
        reply=Reply.QUEUED,
        why=Why.NO_PROMISE_ASKED.value,
        message="its deadline was taken back: runs on what the promised jobs leave",
        promised=None,
        share=None,
    )
    return change.withdraw("its deadline was taken back", change.job.actor or "user").put(contract=told)


def _extended(change: Change, contract: Contract, deadline: float) -> Change:
    """A later deadline needs no new plan: the one that keeps the earlier promise keeps this one too."""
    told = replace(
        contract, promised=deadline, message=f"promised by {rfc3339(deadline)}, later than before as asked"
    )
    change = change.put(contract=told).tell(
        "verdict", before="admitted", after="admitted", reason=told.message, data={"promised": deadline}
    )
    if change.job.promise is PromiseState.AT_RISK:
        return change.promise(PromiseState.HOLDS)
    return change
