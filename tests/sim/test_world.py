"""The simulated world between two rounds."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest
from tests.builders import a_job, a_workload, a_world

from tenuto.model.plan import Action, ActionKind, Answer, Plan, Round, Verdict, Why
from tenuto.model.snapshot import IDLE
from tenuto.sim.world import World


def ten(_: int) -> float:
    return 10.0


def a_round(
    *actions: Action,
    layout: list[int] | None = None,
    verdicts: dict[int, Verdict] | None = None,
    wake_at: float = inf,
    memory: object = None,
) -> Round:
    slots = [IDLE] * 8
    for action in actions:
        for slot in action.slots:
            slots[slot] = action.number
    plan = Plan(np.array(slots if layout is None else layout, dtype=np.int64))
    return Round(verdicts or {}, plan, actions, wake_at, memory)


def start(number: int, *slots: int) -> Action:
    return Action(ActionKind.START, number, 0, slots)


def begun(world: World, *actions: Action) -> World:
    """The world after its first round."""
    world.advance_to(world.next_event())
    world.apply(a_round(*actions))
    return world


def test_the_first_event_is_the_first_arrival() -> None:
    world = a_world(a_workload(jobs=[a_job(arrived=7.0), a_job(arrived=9.0)]))

    assert world.next_event() == 7.0


def test_all_who_arrive_at_one_moment_arrive_together_and_wait_for_a_verdict() -> None:
    world = a_world(a_workload(jobs=[a_job(arrived=7.0), a_job(arrived=7.0), a_job(arrived=9.0)]))
    world.advance_to(7.0)

    snap = world.snapshot()

    assert snap.now == 7.0
    assert snap.number.tolist() == [0, 1]
    assert snap.undecided.tolist() == [True, True]
    assert world.next_event() == 9.0


def test_a_started_job_pays_first_and_then_works_along_its_curve() -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0)]), cost=ten), start(0, 0, 1))

    world.advance_to(5.0)
    assert world.snapshot().left.tolist() == [100.0]
    world.advance_to(15.0)
    assert world.snapshot().left.tolist() == [90.0]
    assert world.next_event() == 60.0


def test_a_job_that_is_done_frees_its_slots_and_leaves() -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0), a_job()])), start(0, 0, 1))

    world.advance_to(world.next_event())

    assert world.finished[0] == 50.0
    assert world.snapshot().number.tolist() == [1]
    assert (world.layout == IDLE).all()


def test_a_resized_job_pays_and_goes_on_at_its_new_speed() -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0)]), cost=ten), start(0, 0, 1))
    world.advance_to(20.0)

    world.apply(a_round(Action(ActionKind.RESIZE, 0, 2, (0, 1, 2, 3))))

    assert world.snapshot().ready_at.tolist() == [30.0]
    assert world.snapshot().changed_at.tolist() == [20.0]
    assert world.next_event() == 50.0


def test_a_stopped_job_keeps_its_steps_and_does_no_more() -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0)])), start(0, 0, 1))
    world.advance_to(20.0)

    world.apply(a_round(Action(ActionKind.STOP, 0, 2, ())))

    assert world.next_event() == inf
    world.advance_to(99.0)
    assert world.snapshot().left.tolist() == [60.0]
    assert (world.preempted[0], world.changes[0], world.last_size[0]) == (1, 2, 2)


def test_a_refused_job_leaves_with_its_reason() -> None:
    world = a_world(a_workload(jobs=[a_job(deadline=50.0), a_job(deadline=60.0)]))
    world.advance_to(0.0)

    world.apply(
        a_round(
            verdicts={
                0: Verdict(Answer.DECLINED, Why.DEADLINE_INFEASIBLE, earliest=80.0),
                1: Verdict(Answer.ADMITTED, Why.FITS, promised=60.0),
            }
        )
    )

    assert world.snapshot().number.tolist() == [1]
    assert world.snapshot().undecided.tolist() == [False]
    assert world.refused.tolist() == [True, False]
    assert world.reason == ["deadline_infeasible", ""]
    assert isnan(world.promised[0])
    assert world.promised[1] == 60.0


def test_what_the_policy_remembers_and_when_it_wants_to_be_asked_is_kept() -> None:
    world = a_world(a_workload(jobs=[a_job(arrived=0.0), a_job(arrived=50.0)]))
    world.advance_to(0.0)

    world.apply(a_round(wake_at=30.0, memory="a knot"))

    assert world.next_event() == 30.0
    assert world.snapshot().memory == "a knot"


@pytest.mark.parametrize("pieces", [1, 7, 1000])
def test_however_often_the_world_is_looked_at_the_job_ends_at_the_same_moment(pieces: int) -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0)]), cost=ten), start(0, 0, 1))

    for piece in range(1, pieces):
        world.advance_to(60.0 * piece / pieces)
    world.advance_to(world.next_event())

    assert world.finished[0] == pytest.approx(60.0, abs=1e-6)


def test_a_snapshot_is_not_changed_by_what_happens_afterwards() -> None:
    world = begun(a_world(a_workload(jobs=[a_job(left=100.0)])), start(0, 0, 1))
    snap = world.snapshot()

    world.advance_to(50.0)

    assert snap.left.tolist() == [100.0]
    assert snap.held.tolist() == [2]
    assert np.count_nonzero(snap.layout == 0) == 2
