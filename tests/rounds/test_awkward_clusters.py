"""Clusters that are not as one would wish: nodes get lost, or are odd or unequal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot, a_workload, replayed

from tenuto.model.plan import Answer
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round

PROMISING = [policy for policy in POLICIES.values() if policy.promises]


@pytest.mark.parametrize("policy", PROMISING, ids=lambda policy: policy.name)
def test_a_lost_node_does_not_make_the_next_round_impossible(policy: Policy) -> None:
    """Both jobs are promised and owed four; then one of two nodes is lost."""
    job = a_job(left=400.0, deadline=101.0, curve={4: 4.0}, new=True)
    whole = a_snapshot(jobs=[job, job], nodes=(4, 4))
    memory = run_round(whole, policy).memory

    left = replace(job, new=False)
    result = run_round(
        a_snapshot(jobs=[replace(left, on=(0, 1, 2, 3)), left], nodes=(4, 4), lost=[1], memory=memory), policy
    )

    assert np.count_nonzero(result.plan.layout >= 0) == 4


def test_a_job_that_fits_is_placed_after_the_widest_node_was_lost() -> None:
    snap = a_snapshot(jobs=[a_job(curve={8: 8.0}, deadline=1000.0, new=True)], nodes=(16, 4, 4), lost=[0])

    result = run_round(snap, POLICIES["elasticflow"])

    assert result.verdicts[0].answer is Answer.ADMITTED
    assert np.count_nonzero(result.plan.layout == 0) == 8


@pytest.mark.parametrize("policy", PROMISING, ids=lambda policy: policy.name)
@pytest.mark.parametrize(("nodes", "size"), [((3, 1), 2), ((3, 3, 3, 3), 2), ((8, 2, 2), 4)])
def test_a_promise_holds_where_buddies_do_not_fit(policy: Policy, nodes: tuple[int, ...], size: int) -> None:
    """Admission counts slots; on odd or unequal nodes a job is split rather than a promise broken."""
    job = a_job(left=960.0 * size, deadline=961.0, curve={size: float(size)})  # four leases of Chronus

    outcome = replayed(a_workload(jobs=[job] * (sum(nodes) // size), nodes=nodes), policy)

    assert np.isfinite(outcome.promised).any()
    assert outcome.met[np.isfinite(outcome.promised)].all()
