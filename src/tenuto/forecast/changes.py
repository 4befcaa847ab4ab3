"""What a change would do to the promises that stand, asked before it is made.

Both worlds, the present one and the changed one, are run ahead; a breach is a promised job that would be late in the
changed world only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from tenuto.forecast.ahead import Reach, ahead, expected
from tenuto.forecast.contract import contract_of
from tenuto.forecast.picture import Scene, picture
from tenuto.forecast.rates import being_measured
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.phase import PLACED, Phase, PromiseState
from tenuto.policy.answers import NO_PROMISE_ASKED, POLICY_GIVES_NONE
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round

A_LITTLE = 3600.0
"""Seconds that are looked beyond the last promise in any case."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A promise that a change would break."""

    job: str
    """The job's id."""
    name: str
    promised: float
    expected: float | None
    """When the job would be done instead; None if that cannot be foreseen."""


def breaches(
    scene: Scene, changed: Scene, policy: Policy, changed_policy: Policy | None = None
) -> tuple[Breach, ...]:
    """The promised jobs that would be late in the changed world and would not be in the present one."""
    after = _finishes(changed, changed_policy or policy)
    late = {job.id: finish for job, finish in after if finish > _promised(job)}
    if not late:
        return ()
    before = _finishes(scene, policy)
    return tuple(
        Breach(job.id, job.spec.name, _promised(job), late[job.id] if late[job.id] < inf else None)
        for job, finish in before
        if job.id in late and finish <= _promised(job)
    )


def admissible(scene: Scene, job: Job, deadline: float | None, policy: Policy) -> Contract:
    """The answer that a job would get if it asked for another deadline now, all other promises kept."""
    if being_measured(job) and job.contract is not None:
        return job.contract
    others = [other for other in scene.jobs if other.id != job.id and other.phase is not Phase.SUBMITTED]
    asking = as_a_newcomer(replace(job, deadline=deadline))
    taken = picture(replace(scene, jobs=[*others, asking], promises=policy.promises))
    row = taken.row_of(job.number)
    assert row is not None, "a newcomer is always part of the picture"
    without_promise = NO_PROMISE_ASKED if deadline is None else POLICY_GIVES_NONE
    verdict = run_round(taken.snapshot, policy).verdicts.get(job.number, without_promise)
    estimate = expected(taken.snapshot, policy, [row]).get(row) if verdict.promised is None else None
    return contract_of(taken, policy, row, verdict, estimate)


def as_a_newcomer(job: Job) -> Job:
    """The job without what it was told: it competes with all promises but its own former one."""
    phase = job.phase if job.phase in PLACED else Phase.SUBMITTED
    untold = replace(job, phase=phase, contract=None, promise=PromiseState.NONE)
    return replace(untold, pause=False, cancel=False, ending=None)


def _promised(job: Job) -> float:
    assert job.contract is not None and job.contract.promised is not None
    return job.contract.promised


def _holds_a_promise(job: Job) -> bool:
    contract = job.contract
    admitted = contract is not None and contract.reply is Reply.ADMITTED and contract.promised is not None
    return admitted and job.promise in (PromiseState.HOLDS, PromiseState.AT_RISK)


def _finishes(scene: Scene, policy: Policy) -> list[tuple[Job, float]]:
    """The promised jobs of a world and when they will be done there; `inf` for long after all promises."""
    taken = picture(replace(scene, promises=policy.promises))
    rows = [row for row, job in enumerate(taken.jobs) if _holds_a_promise(job)]
    if not rows:
        return []
    # Twice as far as the last promise, and a little more: to tell of most late jobs how late they would be.
    to_last = max(_promised(taken.jobs[row]) for row in rows) - scene.now
    until = taken.snapshot.now + 2.0 * max(to_last, 0.0) + A_LITTLE
    seen = ahead(taken.snapshot, policy, watch=rows, reach=Reach(until=until))
    return [(taken.jobs[row], scene.epoch + float(seen.finish[row])) for row in rows]
