"""What must never happen in a round, whatever the policy and whatever the cluster looks like."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.builders import free_of_charge
from tests.properties.checks import as_plain, assert_actions_lead_to_the_plan, assert_possible
from tests.properties.policies import POLICIES
from tests.properties.strategies import snapshots

from tenuto.model.cost import Cost
from tenuto.model.snapshot import IDLE, Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.elasticflow import ELASTICFLOW
from tenuto.rounds.round import run_round

every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
some = settings(max_examples=60)


@every_policy
@some
@given(snap=snapshots())
def test_a_plan_gives_each_slot_to_a_job_that_is_there_and_no_job_a_size_it_cannot_use(
    policy: Policy, snap: Snapshot
) -> None:
    assert_possible(snap, run_round(snap, policy))


@every_policy
@some
@given(snap=snapshots())
def test_the_same_picture_gives_the_same_round_and_is_not_touched(policy: Policy, snap: Snapshot) -> None:
    before = as_plain(snap)

    first, second = run_round(snap, policy), run_round(snap, policy)

    assert as_plain(first) == as_plain(second)
    assert as_plain(snap) == before


@every_policy
@some
@given(snap=snapshots())
def test_every_newcomer_gets_one_answer_and_nobody_else_gets_any(policy: Policy, snap: Snapshot) -> None:
    result = run_round(snap, policy)

    assert sorted(result.verdicts) == snap.number[snap.undecided].tolist()
    refused = [number for number, verdict in result.verdicts.items() if verdict.refused]
    assert not np.isin(result.plan.layout, refused).any()


@every_policy
@some
@given(snap=snapshots())
def test_the_actions_lead_from_the_old_layout_to_the_new_one_and_free_before_they_take(
    policy: Policy, snap: Snapshot
) -> None:
    assert_actions_lead_to_the_plan(snap, run_round(snap, policy))


@every_policy
@some
@given(snap=snapshots())
def test_the_next_round_is_asked_for_in_the_future(policy: Policy, snap: Snapshot) -> None:
    assert run_round(snap, policy).wake_at > snap.now


@some
@given(snap=snapshots(splitting_only=True, without_deadlines=True))
def test_no_slot_idles_while_somebody_has_a_useful_higher_level(snap: Snapshot) -> None:
    """If changes cost nothing and need not last, who is left with less finds no room for the next level."""
    at_no_cost = replace(
        snap,
        cost=Cost.by_size(snap.sizes, free_of_charge),
        rules=replace(snap.rules, interval=0.0),
        ready_at=np.full(len(snap), -np.inf),
    )

    result = run_round(at_no_cost, ELASTICFLOW)

    idle = np.count_nonzero(result.plan.layout == IDLE)
    for row, number in enumerate(snap.number.tolist()):
        size = np.count_nonzero(result.plan.layout == number)
        higher = snap.sizes[(snap.useful[row] > 0.0) & (snap.sizes > size)]
        assert len(higher) == 0 or higher[0] - size > idle
