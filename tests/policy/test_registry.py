"""Every policy by its name, and what all of them answer to the hopeless."""

from __future__ import annotations

import pytest
from tests.builders import a_job, a_snapshot, a_workload, replayed

from tenuto.model.plan import Answer, Why
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES, policy_named
from tenuto.rounds.round import run_round

every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


@every_policy
def test_a_policy_is_found_by_its_name_and_its_aliases(policy: Policy) -> None:
    assert all(policy_named(name) is policy for name in (policy.name, *policy.aliases))
    assert policy.summary.endswith(".")


def test_the_references_names_are_known() -> None:
    names = {
        "ef-accessctrl": "elasticflow",
        "ef": "elasticflow-no-admission",
        "edf-accessctrl": "edf-admission",
    }

    assert {alias: POLICIES[name] for alias, name in names.items()} == {
        alias: policy_named(alias) for alias in names
    }
    assert policy_named("lifo") is None


def test_no_name_means_two_policies() -> None:
    names = [name for policy in POLICIES.values() for name in (policy.name, *policy.aliases)]

    assert len(names) == len(set(names))


@every_policy
@pytest.mark.parametrize("deadline", [1000.0, float("inf")])
def test_a_job_larger_than_the_cluster_is_refused_at_once_with_that_reason(
    policy: Policy, deadline: float
) -> None:
    snap = a_snapshot(jobs=[a_job(curve={16: 16.0}, deadline=deadline, new=True), a_job(new=True)])

    verdict = run_round(snap, policy).verdicts[0]

    assert (verdict.answer, verdict.why) == (Answer.UNSCHEDULABLE, Why.TOO_LARGE)
    assert str(verdict) == "this cluster is not large enough to run the job"


@every_policy
def test_slots_of_a_lost_node_do_not_count_for_the_size_of_the_cluster(policy: Policy) -> None:
    snap = a_snapshot(jobs=[a_job(curve={16: 16.0}, new=True)], nodes=(8, 8), lost=[1])

    assert run_round(snap, policy).verdicts[0].why is Why.TOO_LARGE


@every_policy
def test_in_a_replay_the_job_that_is_too_large_does_not_hold_up_the_others(policy: Policy) -> None:
    outcome = replayed(a_workload(jobs=[a_job(curve={16: 16.0}), a_job(left=100.0, size=4)]), policy)

    assert outcome.admitted.tolist() == [False, True]
    assert outcome.reason == ("too_large", "")
    assert outcome.finished[1] > 0.0


@every_policy
def test_a_job_without_a_deadline_is_never_declined_and_nothing_is_promised(policy: Policy) -> None:
    snap = a_snapshot(jobs=[a_job(new=True) for _ in range(20)])

    verdicts = run_round(snap, policy).verdicts.values()

    assert {(verdict.answer, verdict.promised) for verdict in verdicts} == {(Answer.QUEUED, None)}


@every_policy
def test_an_empty_cluster_is_left_alone(policy: Policy) -> None:
    result = run_round(a_snapshot(jobs=[]), policy)

    assert result.actions == ()
    assert result.verdicts == {}
    assert result.wake_at == float("inf")
