"""A plain queue: who does not fit lets others pass, and who is urgent goes first."""

from __future__ import annotations

import pytest
from tests.live.platform import Platform

from tenuto.model.phase import Phase

P = Phase
EIGHT = {"node-0": 8}


@pytest.mark.parametrize("policy", ["fifo", "elasticflow"])
def test_a_job_larger_than_the_cluster_says_so_and_lets_others_pass(policy: str) -> None:
    here = Platform(EIGHT, policy=policy)
    large = here.submit("대형", min_workers=9, max_workers=9)
    small = here.submit("mały", min_workers=2, max_workers=2)

    assert (here.phase(large), here.phase(small)) == (P.UNSCHEDULABLE, P.RUNNING)
    assert "needs 9 slots, the cluster has 8" in here.job(large).message


@pytest.mark.parametrize("policy", ["fifo", "elasticflow"])
def test_an_urgent_job_overtakes_those_that_wait(policy: str) -> None:
    here = Platform(EIGHT, policy=policy)
    first = here.submit(min_workers=8, max_workers=8)
    waiting = here.submit("czeka", min_workers=8, max_workers=8)
    urgent = here.submit("紧急", min_workers=8, max_workers=8, settle=False)
    here.wish(urgent, urgent=True)
    assert (here.phase(waiting), here.phase(urgent)) == (P.QUEUED, P.QUEUED)

    here.exit(first)

    assert (here.phase(waiting), here.phase(urgent)) == (P.QUEUED, P.RUNNING)
