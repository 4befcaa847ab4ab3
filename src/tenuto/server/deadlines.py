"""May a job have another deadline? Asked before it is written down."""

from __future__ import annotations

from tenuto.errors import Conflict
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.phase import OPEN_PROMISES, Phase
from tenuto.server.scene import View

GIVES_NONE = "policy_gives_none"
"""`model.plan.Why.POLICY_GIVES_NONE`; the deadline then only decides about the order."""


def check_promisable(seen: View, deadline: float | None) -> None:
    """Refuse a deadline that cannot be promised, and tell what can."""
    job = seen.job
    assert job is not None
    if deadline is None or not must_be_asked(job, deadline):
        return
    answer = _answer(seen, job, deadline)
    if answer.reply is Reply.ADMITTED or answer.why == GIVES_NONE:
        return
    raise Conflict(
        answer.message.removeprefix(f"{answer.reply}: "),
        code="not_promisable",
        remedy="Choose a deadline that can be promised, or resubmit the job with less work",
        field="deadline",
    )


def must_be_asked(job: Job, deadline: float) -> bool:
    """Not for jobs that will be answered anyway, nor for more time than was promised."""
    if job.phase is Phase.SUBMITTED or not job.is_planned:
        return False
    contract = job.contract
    if contract is not None and contract.reply is Reply.MEASURING:
        return False
    promised = contract.promised if contract is not None and job.promise in OPEN_PROMISES else None
    return promised is None or deadline < promised


def _answer(seen: View, job: Job, deadline: float) -> Contract:
    from tenuto.forecast.changes import admissible  # loads compiled kernels

    policy = seen.rule.policy()
    return admissible(seen.scene(policy), job, deadline, policy)
