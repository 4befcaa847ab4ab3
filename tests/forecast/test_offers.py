"""Every no comes with what would make it a yes, and what is offered is given when it is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.forecast.records import NOW, a_node, a_record, a_scene, answered

from tenuto.forecast.offers import Refusal, offers, written_later
from tenuto.forecast.picture import Scene, picture
from tenuto.model.job import Job, Offers
from tenuto.model.plan import Answer, Verdict
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round

ELASTICFLOW, CHRONUS = POLICIES["elasticflow"], POLICIES["chronus-greedy"]
PROMISING = [policy for policy in POLICIES.values() if policy.promises]


def verdict_on(scene: Scene, newcomer: Job, policy: Policy) -> Verdict:
    taken = picture(replace(scene, jobs=[*scene.jobs, newcomer]))
    return run_round(taken.snapshot, policy).verdicts[newcomer.number]


def offered(scene: Scene, newcomer: Job, policy: Policy) -> Offers:
    """What a newcomer is offered beside the jobs of a scene."""
    taken = picture(replace(scene, jobs=[*scene.jobs, newcomer]))
    row = taken.row_of(newcomer.number)
    assert row is not None
    verdict = run_round(taken.snapshot, policy).verdicts[newcomer.number]
    return offers(Refusal(taken, policy, row, verdict))


def busy_scene() -> Scene:
    """Four slots, all promised to one job for the next hundred seconds."""
    return answered(a_scene([a_record(1, deadline=NOW + 100.0015, spec={"steps": 400.0})]), ELASTICFLOW)


def test_a_refused_job_is_told_when_it_could_be_done_how_much_would_fit_and_who_is_in_the_way() -> None:
    newcomer = a_record(2, deadline=NOW + 120.0)

    told = offered(busy_scene(), newcomer, ELASTICFLOW)

    assert told == Offers(earliest=NOW + 126.0, steps=79.0, in_the_way=("job-0001",))


def test_nothing_fits_before_a_deadline_at_which_everything_is_taken() -> None:
    told = offered(busy_scene(), a_record(2, deadline=NOW + 90.0), ELASTICFLOW)

    assert told.steps is None
    assert told.earliest == NOW + 126.0


def test_nobody_is_in_the_way_of_what_can_never_be() -> None:
    told = offered(busy_scene(), a_record(2, deadline=NOW + 1.0), ELASTICFLOW)

    assert told.in_the_way == ()


def test_who_asked_for_nothing_and_who_is_too_large_is_offered_nothing() -> None:
    assert offered(busy_scene(), a_record(2), ELASTICFLOW) == Offers()
    large = a_record(3, deadline=NOW + 1e4, spec={"min_workers": 8, "max_workers": 8}, curve={8: 1.0})
    assert offered(busy_scene(), large, ELASTICFLOW) == Offers()


def test_a_policy_that_lets_wait_whom_it_cannot_promise_makes_offers_too() -> None:
    scene = a_scene([a_record(1, deadline=NOW + 500.0, spec={"steps": 100.0, "preferred": 4})])
    scene = answered(scene, CHRONUS)
    newcomer = a_record(2, deadline=NOW + 210.0, spec={"preferred": 4})

    told = offered(scene, newcomer, CHRONUS)

    assert told.earliest is not None
    assert verdict_on(scene, replace(newcomer, deadline=told.earliest), CHRONUS).answer is Answer.ADMITTED


def test_far_deadlines_are_offered_in_whole_minutes_and_near_ones_in_seconds() -> None:
    assert written_later(NOW + 59.2, NOW) == NOW + 60.0
    assert written_later(NOW + 7201.0, NOW) % 60.0 == 0.0
    assert 0.0 <= written_later(NOW + 7201.0, NOW) - (NOW + 7201.0) < 60.0


@st.composite
def full_scenes(draw: st.DrawFn) -> tuple[list[Job], Job, Rules]:
    """Jobs with deadlines, and one more in a hurry."""
    curves = st.sampled_from([{1: 1.0, 2: 2.0, 4: 4.0}, {1: 1.0, 2: 1.7, 4: 2.5}, {2: 3.0}])

    def job(number: int, slack: st.SearchStrategy[float]) -> Job:
        curve, steps = draw(curves), float(draw(st.integers(20, 900)))
        deadline = NOW + 15.0 + draw(slack) * steps / max(curve.values())
        return a_record(number, curve=curve, spec={"steps": steps}, deadline=deadline)

    jobs = [job(number, st.sampled_from([1.2, 2.0, 5.0])) for number in range(1, 2 + draw(st.integers(0, 5)))]
    newcomer = job(50, st.sampled_from([0.7, 1.0, 1.3]))
    return jobs, newcomer, Rules(margin=draw(st.sampled_from([0.0, 0.1])))


@pytest.mark.parametrize("policy", PROMISING, ids=[policy.name for policy in PROMISING])
@settings(max_examples=15)
@given(drawn=full_scenes(), nodes=st.sampled_from([(4,), (2, 2), (4, 2)]), cost=st.sampled_from([0.0, 5.0]))
def test_whatever_is_offered_is_given(
    policy: Policy, drawn: tuple[list[Job], Job, Rules], nodes: tuple[int, ...], cost: float
) -> None:
    jobs, newcomer, rules = drawn
    records = [a_node(number, slots) for number, slots in enumerate(nodes)]
    scene = a_scene(jobs, records, rules=rules, start_cost=cost, rescale_cost=cost)
    scene = replace(answered(scene, policy), now=NOW + 7.0)
    assume(verdict_on(scene, newcomer, policy).answer is not Answer.ADMITTED)

    told = offered(scene, newcomer, policy)

    # Only ElasticFlow fits a newcomer in beside the standing plans; the others may find no plan for all together.
    assert told.earliest is not None or policy is not ELASTICFLOW
    if told.earliest is not None:
        later = replace(newcomer, deadline=told.earliest)
        assert verdict_on(scene, later, policy).answer is Answer.ADMITTED
    if told.steps is not None:
        less = replace(newcomer, progress=replace(newcomer.progress, left=told.steps))
        assert verdict_on(scene, less, policy).answer is Answer.ADMITTED
    for leaving in told.in_the_way:
        others = replace(scene, jobs=[job for job in scene.jobs if job.id != leaving])
        assert verdict_on(others, newcomer, policy).answer is Answer.ADMITTED
