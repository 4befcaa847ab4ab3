"""When jobs will begin and be done: by one look ahead, corrected by how far such looks were off."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.forecast.records import NOW, a_contract, a_node, a_record, a_scene, answered

from tenuto.forecast.eta import Eta, reach_of
from tenuto.forecast.future import foresee_cheaply
from tenuto.forecast.picture import Scene
from tenuto.forecast.spread import Past
from tenuto.model.job import Reply
from tenuto.model.phase import Phase
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES

FIFO, ELASTICFLOW = POLICIES["fifo"], POLICIES["elasticflow"]
TWICE = {
    "runs/free/given": [(NOW, 2.0)] * 50,
    "waits/free/given": [(NOW, 3.0)] * 40 + [(NOW, 5.0)] * 10,
}


def etas(scene: Scene, policy: Policy, past: Past | None = None) -> dict[str, Eta]:
    return foresee_cheaply(scene, policy, past or {}).etas


def told(eta: Eta) -> list[float | None]:
    """A future in seconds from now."""
    return [None if at is None else round(at - NOW, 1) for at in (eta.start, eta.finish, eta.late)]


def a_runner_and_one_that_waits() -> list[Eta]:
    """The scene of most stories here: four slots, a job on all of them, and one behind it."""
    waits = a_record(2, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    scene = a_scene([a_record(1, slots={"node-0": (0, 1, 2, 3)}), waits])
    return [*etas(scene, FIFO).values()]


def test_with_certain_curves_and_no_past_the_median_and_the_late_moment_are_the_same() -> None:
    runs, waits = a_runner_and_one_that_waits()

    assert told(runs) == [0.0, 25.0, 25.0]
    assert told(waits) == [25.0, 50.0, 50.0]


def test_what_became_of_earlier_forecasts_corrects_the_next() -> None:
    waits = a_record(2, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    scene = a_scene([a_record(1, slots={"node-0": (0, 1, 2, 3)}), waits])

    first, second = etas(scene, FIFO, past=TWICE).values()

    assert told(first) == [0.0, 51.0, 51.0]
    assert told(second) == [77.0, 152.0, 254.0]
    assert (first.estimate, second.estimate) == (NOW + 25.0, NOW + 50.0)


def test_a_promised_job_is_done_by_the_end_of_its_reservation_however_many_others_there_are() -> None:
    jobs = [a_record(number, deadline=NOW + 40_000.0 + number) for number in range(1, 400)]
    scene = answered(a_scene(jobs, [a_node(number, 4) for number in range(8)]), ELASTICFLOW)

    found = etas(scene, ELASTICFLOW)

    assert len(found) == len(scene.jobs)
    for job in scene.jobs:
        finish = found[job.id].finish
        assert finish is not None and job.deadline is not None
        assert finish <= job.deadline + 1e-3


def test_who_is_refused_or_never_ends_has_no_finish() -> None:
    endless = a_record(1, spec={"steps": None, "max_workers": 1}, curve={1: 1.0})
    refused = a_record(2, deadline=NOW + 1.0)

    found = etas(a_scene([endless, refused]), ELASTICFLOW)

    assert [found[job.id].finish for job in (endless, refused)] == [None, None]
    assert found[endless.id].start == NOW


def test_a_job_past_the_end_of_its_plan_is_expected_to_go_on_as_it_runs() -> None:
    slow = a_record(1, spec={"steps": 30.0, "max_workers": 1}, deadline=NOW + 40.0, curve={1: 1.0})
    scene = answered(a_scene([slow]), ELASTICFLOW)

    [eta] = etas(replace(scene, now=NOW + 35.0, left={1: 20.0}), ELASTICFLOW).values()

    assert told(eta) == [35.0, 55.0, 55.0]


def test_nobody_is_left_out_where_there_are_too_many_to_look_closely() -> None:
    jobs = [a_record(number, spec={"steps": 100.0 + number}) for number in range(1, 601)]
    scene = a_scene(jobs, [a_node(number, 8) for number in range(10)])

    found = etas(scene, ELASTICFLOW)

    unknown = [job.id for job in jobs if found[job.id].finish is None]
    assert unknown == []
    by_hand = sum(100.0 + number for number in range(1, 601)) / 80.0
    last = max(eta.finish or 0.0 for eta in found.values()) - NOW
    assert last == pytest.approx(by_hand, rel=0.5)


@pytest.mark.parametrize("rows", [0, 1, 50, 1000, 10_000, 100_000])
def test_a_look_costs_no_more_than_it_may(rows: int) -> None:
    reach = reach_of(rows)

    assert reach.rounds * rows <= max(20_000, 8 * rows)
    assert reach.rounds * reach.ends >= 2 * rows


def test_who_waits_for_one_that_never_ends_has_no_start_either() -> None:
    endless = a_record(
        1, spec={"steps": None, "min_workers": 4}, curve={4: 1.0}, slots={"node-0": (0, 1, 2, 3)}
    )
    behind = a_record(2, spec={"min_workers": 4}, curve={4: 1.0}, phase=Phase.QUEUED)

    found = etas(a_scene([endless, behind]), FIFO)

    assert told(found[behind.id]) == [None, None, None]
