"""A scene that is different in thought, and who is later, earlier, or loses a promise by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.forecast.records import NOW, a_contract, a_node, a_record, a_scene, answered, promised

from tenuto.forecast.future import Future, Standing, foresee
from tenuto.forecast.picture import Scene
from tenuto.forecast.whatif import (
    Difference,
    Effect,
    as_nodes,
    differences,
    with_deadline,
    with_nodes,
    without_jobs,
    without_nodes,
)
from tenuto.model.job import Reply, Retry
from tenuto.model.phase import Phase, PromiseState
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES

ELASTICFLOW, FIFO, EDF_ADMISSION = POLICIES["elasticflow"], POLICIES["fifo"], POLICIES["edf-admission"]
WORK = 60_000


def future(scene: Scene, policy: Policy = ELASTICFLOW, work: int = WORK) -> Future:
    return foresee(scene, policy, {}, work)


def effects(found: Sequence[Difference]) -> dict[int, Effect]:
    return {one.job.number: one.effect for one in found}


def compared(before: Scene, after: Scene, policy: Policy = ELASTICFLOW) -> dict[int, Effect]:
    return effects(differences(future(before), future(after, policy)).found)


def two_nodes(*jobs: float | None, costs: float = 0.0) -> Scene:
    """Two nodes of two slots; jobs of 100 steps for two workers, with these deadlines in seconds from now."""
    narrow = {"min_workers": 2, "max_workers": 2}
    made = [
        a_record(number, deadline=None if due is None else NOW + due, spec=narrow)
        for number, due in enumerate(jobs, 1)
    ]
    scene = a_scene(made, [a_node(0, 2), a_node(1, 2)], start_cost=costs, rescale_cost=costs)
    return answered(scene, ELASTICFLOW)


def test_nothing_is_different_if_nothing_changes() -> None:
    scene = two_nodes(55.0, None)
    compared_with_itself = differences(future(scene), future(scene))

    assert compared_with_itself.found == ()
    assert compared_with_itself.unchanged == 2


def test_everybody_is_told_of_on_request() -> None:
    scene = two_nodes(55.0, None)
    found = differences(future(scene), future(scene), everybody=True)

    assert effects(found.found) == {1: Effect.NONE, 2: Effect.NONE}
    assert found.unchanged == 2


def test_a_job_on_a_lost_node_starts_again_elsewhere_and_pays_for_it() -> None:
    scene = two_nodes(None, None, costs=7.0)
    scene = replace(scene, jobs=[replace(scene.jobs[0]), *scene.jobs[1:]])
    [on_first] = [job for job in scene.jobs if "node-0" in job.slots]
    alone = without_jobs(scene, [job.id for job in scene.jobs if job.id != on_first.id])
    later = replace(alone, now=NOW + 10.0)

    hit = without_nodes(later, ["node-0"])
    fates = future(hit.scene).fates([on_first.id])

    done = 10.0 * 2.0
    assert fates[on_first.id].eta.estimate == NOW + 10.0 + 7.0 + (100.0 - done) / 2.0
    assert hit.lost == frozenset()


def test_without_any_node_every_promise_is_broken_and_everybody_later() -> None:
    scene = two_nodes(55.0, None)

    found = differences(future(scene), future(without_nodes(scene, ["node-0", "node-1"]).scene)).found

    assert effects(found) == {1: Effect.BROKEN, 2: Effect.LATER}


def test_a_promise_that_a_loss_would_break_comes_first() -> None:
    scene = two_nodes(55.0, 55.0, None)

    found = differences(future(scene), future(without_nodes(scene, ["node-1"]).scene)).found

    assert found[0].effect is Effect.BROKEN
    assert found[0].after is not None and found[0].after.standing is Standing.AT_RISK
    assert found[0].before is not None and found[0].before.standing is Standing.HOLDS


def test_a_job_that_may_not_be_started_again_ends_with_its_node() -> None:
    never_again = a_record(1, spec={"retry": Retry(losses=0)}, slots={"node-0": (0, 1)})
    scene = a_scene([never_again], [a_node(0, 2), a_node(1, 2)])

    hit = without_nodes(scene, ["node-0"])

    assert hit.lost == {"job-0001"}
    found = differences(future(scene), future(hit.scene), lost=hit.lost).found
    assert effects(found) == {1: Effect.LOST}


def test_workers_that_train_together_go_on_without_those_that_are_lost() -> None:
    together = a_record(
        1,
        spec={"strategy": "allreduce"},
        slots={"node-0": (0, 1), "node-1": (0,)},
        curve={1: 1.0, 2: 2.0, 3: 3.0},
    )
    scene = a_scene([together], [a_node(0, 2), a_node(1, 2)], rescale_cost=2.0)

    [survivor] = without_nodes(scene, ["node-1"]).scene.jobs

    assert survivor.slots == {"node-0": (0, 1)}
    assert (survivor.progress.speed, survivor.progress.ready_at) == (2.0, NOW + 2.0)


def test_further_nodes_let_others_begin_earlier() -> None:
    scene = two_nodes(None, None, None)

    assert compared(scene, with_nodes(scene, [2])) == {3: Effect.EARLIER}


def test_further_slots_lie_on_nodes_like_those_that_there_are() -> None:
    scene = two_nodes()

    assert as_nodes(scene, 5) == [2, 2, 1]
    assert as_nodes(a_scene([], []), 5) == [5]
    assert [node.name for node in with_nodes(with_nodes(scene, [1]), [1]).nodes[2:]] == [
        "further-1",
        "further-2",
    ]


def test_a_job_that_fits_nowhere_is_answered_when_the_cluster_grows() -> None:
    large = a_record(1, spec={"min_workers": 4}, curve={4: 4.0}, phase=Phase.UNSCHEDULABLE)
    scene = a_scene([large], [a_node(0, 2)])

    assert compared(scene, with_nodes(scene, [2])) == {1: Effect.ADMITTED}


def test_a_job_that_still_fits_nowhere_is_not_told_to_be_refused() -> None:
    large = a_record(1, spec={"min_workers": 8, "max_workers": 8}, curve={8: 4.0}, phase=Phase.UNSCHEDULABLE)
    scene = a_scene([large], [a_node(0, 2)])

    [one] = differences(future(scene), future(with_nodes(scene, [2])), everybody=True).found

    assert (one.effect, one.before, one.after) == (Effect.NONE, None, None)


def test_who_leaves_makes_room() -> None:
    scene = two_nodes(None, None, None)

    assert compared(scene, without_jobs(scene, ["job-0001"])) == {1: Effect.CANCELLED, 3: Effect.EARLIER}


def test_a_later_deadline_extends_the_promise_without_a_new_plan() -> None:
    scene = two_nodes(55.0)

    after = future(with_deadline(scene, "job-0001", NOW + 99.0))

    assert after.fates(["job-0001"])["job-0001"].promised == NOW + 99.0
    assert after.picture.asked_again == frozenset()


def test_a_policy_that_cannot_take_a_promise_over_breaks_it() -> None:
    late = replace(promised(1, NOW + 10.0), progress=replace(a_record().progress, left=400.0))
    scene = a_scene([late])

    after = future(replace(scene, memory=None), EDF_ADMISSION)

    assert after.broken == {"job-0001"}
    assert after.fates(["job-0001"])["job-0001"].standing is Standing.BROKEN


def test_a_promise_at_risk_that_would_be_kept_is_told() -> None:
    scene = two_nodes(55.0)
    at_risk = replace(scene.jobs[0], promise=PromiseState.AT_RISK)
    slow = replace(at_risk, progress=replace(at_risk.progress, left=150.0))
    before = replace(scene, jobs=[slow])
    after = replace(scene, jobs=[replace(slow, progress=at_risk.progress)])

    assert compared(before, after) == {1: Effect.KEPT}


def test_an_unanswered_job_may_be_refused_by_a_change() -> None:
    scene = two_nodes(55.0)
    asks = a_record(2, deadline=NOW + 55.0, spec={"max_workers": 2})
    scene = replace(scene, jobs=[*scene.jobs, asks])

    assert compared(scene, without_nodes(scene, ["node-1"]).scene)[2] is Effect.REFUSED


def test_where_one_looks_roughly_small_differences_are_not_told() -> None:
    jobs = [a_record(number, spec={"max_workers": 1, "steps": 100.0 + number}) for number in range(1, 41)]
    scene = answered(a_scene(jobs, [a_node(0, 4)]), ELASTICFLOW)
    rough = future(scene, work=400)
    slower = replace(
        scene, jobs=[replace(scene.jobs[0], progress=replace(scene.jobs[0].progress, left=104.0))]
    )
    slower = replace(slower, jobs=[*slower.jobs, *scene.jobs[1:]])

    assert not rough.exact
    assert differences(rough, future(slower, work=400)).found == ()
    assert future(scene, work=WORK).exact


def test_a_finish_beyond_what_was_looked_at_is_later_than_that() -> None:
    jobs = [a_record(number, spec={"max_workers": 1}) for number in range(1, 101)]
    waiting = replace(jobs[-1], phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    seen = future(a_scene([*jobs[:-1], waiting], [a_node(0, 1)]), work=0)

    fate = seen.fates([waiting.id])[waiting.id]

    assert fate.eta.finish is None
    assert fate.later_than is not None and fate.later_than > NOW


def test_a_job_that_waits_for_more_slots_than_would_be_left_is_later_for_ever() -> None:
    wide = a_record(
        1, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED), spec={"min_workers": 4, "max_workers": 4}
    )
    scene = a_scene([wide], [a_node(0, 2), a_node(1, 2)])
    fewer = without_nodes(scene, ["node-1"]).scene

    assert future(fewer, FIFO).fates([wide.id])[wide.id].never
    assert effects(differences(future(scene, FIFO), future(fewer, FIFO)).found) == {1: Effect.LATER}
    assert effects(differences(future(fewer, FIFO), future(scene, FIFO)).found) == {1: Effect.EARLIER}


def test_a_policy_without_promises_is_judged_by_when_jobs_are_done() -> None:
    jobs = [a_record(1, deadline=NOW + 26.0), a_record(2, deadline=NOW + 55.0, spec={"preferred": 1})]
    scene = answered(a_scene(jobs), ELASTICFLOW)

    found = differences(future(scene), future(replace(scene, memory=None), FIFO)).found

    assert effects(found) == {2: Effect.BROKEN}


def test_a_job_of_unknown_length_that_would_lose_its_slots_is_told() -> None:
    endless = a_record(1, spec={"steps": None}, slots={"node-0": (0, 1, 2, 3)}, curve={})
    scene = a_scene([endless], [a_node(0)])

    assert compared(scene, without_nodes(scene, ["node-0"]).scene) == {1: Effect.LATER}
    assert compared(without_nodes(scene, ["node-0"]).scene, scene) == {1: Effect.EARLIER}
