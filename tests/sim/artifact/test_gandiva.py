"""The reference's Gandiva: node sets, turns, and the quirks that decide its results."""

from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from tests.sim.artifact.reference import Run, Totals, figure_10, totals
from tests.sim.artifact.stories import LINEAR, Submitted, told

from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.sim.artifact import Revision, replay
from tenuto.sim.artifact.gandiva.visits import FREE_OF_CHARGE, ORDINARY, RESTART, at_arrivals
from tenuto.sim.outcome import Outcome


def on(jobs: list[Submitted], *, nodes: int, slots: int, slot: float = 60) -> Outcome:
    """Replay jobs on so many nodes with so many GPUs each."""
    cluster = Cluster.regular("floor", nodes=nodes, slots=slots)
    return told(jobs, "gandiva", cluster=cluster, slot=slot, layouts=True)


def layouts(outcome: Outcome) -> list[list[int]]:
    assert outcome.events.layouts is not None
    return [layout.tolist() for layout in outcome.events.layouts]


def test_nobody_looks_between_arrivals() -> None:
    """Q11: the first job ends at 608 s, but its GPU stays unused until the arrival at 5000 s."""
    outcome = on([Submitted(), Submitted(at=100), Submitted(at=5000, steps=60)], nodes=1, slots=1)

    assert outcome.finished.tolist() == [608, 5604, 5720]
    assert outcome.started.tolist() == [0, 100, 5000]
    assert outcome.events.time.tolist()[:4] == [0, 100, 5000, 5060]


def test_an_end_counts_when_it_was_not_when_it_was_seen() -> None:
    jobs = [Submitted(deadline=608), Submitted(at=100), Submitted(at=5000)]

    assert on(jobs, nodes=1, slots=4).met[0]
    assert not on([Submitted(deadline=607), *jobs[1:]], nodes=1, slots=4).met[0]


def test_a_best_effort_job_is_a_job_like_any_other_but_meets_no_deadline() -> None:
    outcome = on([Submitted(deadline=inf), Submitted()], nodes=1, slots=1)

    assert outcome.finished.tolist() == on([Submitted(), Submitted()], nodes=1, slots=1).finished.tolist()
    assert outcome.met.tolist() == [False, True]


def test_turns_change_at_whole_minutes_only() -> None:
    """Q14: two jobs for one GPU take turns if visits fall on whole minutes; else the second waits."""
    taking_turns = on([Submitted(), Submitted()], nodes=1, slots=1)
    one_by_one = on([Submitted(at=7), Submitted(at=7)], nodes=1, slots=1)

    assert taking_turns.finished.tolist() == [1140, 1200]
    assert taking_turns.preempted.tolist() == [9, 9]
    assert one_by_one.finished.tolist() == [607, 1207]
    assert one_by_one.preempted.tolist() == [0, 0]


def test_the_last_seat_of_a_set_is_left_empty_while_nodes_are_idle() -> None:
    """Q12: the second job would fit beside the first."""
    assert layouts(on([Submitted(), Submitted()], nodes=2, slots=2))[0] == [0, -1, 1, -1]


def test_a_job_that_has_ended_still_counts_for_its_set() -> None:
    """Q12: at 300 s two jobs share a node of four GPUs, and the third goes elsewhere."""
    jobs = [Submitted(steps=150), Submitted(at=100), Submitted(at=200), Submitted(at=300)]

    assert layouts(on(jobs, nodes=2, slots=4))[2:4] == [
        [1, 2, -1, -1, -1, -1, -1, -1],
        [1, 2, -1, -1, 3, -1, -1, -1],
    ]


def test_jobs_of_different_sizes_share_no_node() -> None:
    jobs = [Submitted(requested=1), Submitted(requested=2), Submitted(requested=8)]

    assert layouts(on(jobs, nodes=4, slots=4))[0] == [0, -1, -1, -1, 1, 1, -1, -1, *[2] * 8]


def test_a_size_without_nodes_waits_and_every_other_waiting_job_is_passed_over() -> None:
    """Q14: when the large job's nodes are given back, the second of three waiting jobs is skipped."""
    large = Submitted(requested=2, steps=60)
    small = [Submitted(at=at) for at in (10, 20, 30)]

    outcome = on([large, *small], nodes=2, slots=1)

    assert outcome.finished[0] == 66
    assert outcome.started.tolist() == [0, 120, 720, 120]


def test_an_added_node_is_given_back_before_anybody_uses_it() -> None:
    """Q13: the second small job waits behind the first although one of three GPUs is idle all the time."""
    jobs = [
        Submitted(requested=2, steps=60),
        Submitted(steps=3000),
        Submitted(steps=600),
        Submitted(at=100, steps=3000),
    ]

    outcome = on(jobs, nodes=3, slots=1)

    later = outcome.events.time >= 100
    assert set(outcome.events.busy[later & (outcome.events.waiting > 0)].tolist()) == {2}
    assert outcome.finished[2] > outcome.finished[1]


def test_a_size_gives_away_one_set_for_every_gpu_too_many_and_takes_some_back() -> None:
    """Four jobs of one GPU first have a node each, then all share one of two GPUs, then get a second one."""
    jobs = [*[Submitted(steps=3000)] * 4, Submitted(at=100, requested=4), Submitted(at=300)]

    seen = layouts(on(jobs, nodes=4, slots=2))

    nodes = [{cell // 2 for cell, job in enumerate(row) if 0 <= job < 4} for row in seen[:3]]
    assert [len(some) for some in nodes] == [4, 1, 2]
    assert seen[1].count(4) == seen[2].count(4) == 4


def test_every_running_job_pays_at_every_arrival_but_not_after_the_last() -> None:
    """Q5: the visit with the number of the slot's seconds costs a restart, 31 s instead of 4 s."""
    jobs = [Submitted(at=100 * k, steps=1000) for k in range(4)]

    outcome = on(jobs, nodes=1, slots=8, slot=2)

    assert (outcome.finished - outcome.started).tolist() == [1039, 1035, 1031, 1000]


def test_visits_are_a_slot_apart_until_only_the_last_arrival_is_left() -> None:
    visits = at_arrivals(np.array([0.0, 10.0, 10.0, 70.0, 500.0, 510.0]), 60)

    assert visits["time"].tolist() == [0, 60, 120, 500, 510]
    assert visits["arrived"].tolist() == [1, 3, 4, 5, 6]
    assert visits["elapsed"].tolist() == [0, 60, 60, 380, 10]
    assert visits["charge"].tolist() == [*[ORDINARY] * 4, FREE_OF_CHARGE]


def test_the_first_visit_is_no_restart() -> None:
    visits = at_arrivals(np.arange(0.0, 600.0, 100.0), 2)

    assert visits["charge"].tolist() == [ORDINARY, ORDINARY, RESTART, ORDINARY, RESTART, FREE_OF_CHARGE]


def test_layouts_hold_every_job_on_as_many_gpus_as_are_busy() -> None:
    cluster = Cluster.regular("two switches", switches=2, nodes=2, slots=4)
    jobs = [
        Submitted(at=90 * k, steps=500 + 97 * k, rates=LINEAR, requested=(1, 2, 8, 4)[k % 4])
        for k in range(24)
    ]

    outcome = told(jobs, "gandiva", cluster=cluster, layouts=True)

    events = outcome.events
    assert events.layouts is not None
    assert [np.count_nonzero(layout >= 0) for layout in events.layouts] == events.busy.tolist()
    assert [len(np.unique(layout[layout >= 0])) for layout in events.layouts] == events.running.tolist()
    assert events.busy.max() <= cluster.total
    assert events.waiting.max() > 0
    without = told(jobs, "gandiva", cluster=cluster)
    assert np.array_equal(without.finished, outcome.finished)
    assert np.array_equal(without.events.time, events.time)


def test_the_reference_knows_powers_of_two_only() -> None:
    with pytest.raises(InputInvalid, match="asks for 3 slots"):
        on([Submitted(requested=3, rates={1: 1.0, 3: 2.0})], nodes=1, slots=4)


def test_totals_of_figure_10() -> None:
    workload = figure_10()

    outcome = replay(workload, "gandiva", slot=240, revision=Revision.HEAD)

    assert totals(workload, outcome) == Totals(79, 6385278, 740211, 2452)


def test_totals_of_figure_8a(shared: Path) -> None:
    run = Run("figure8a/gandiva", "elasticVpollux_e", "n16g4", 60, "t4")

    assert totals(*run.replay(shared)) == Totals(18, 43728665, 5315679, 23942)


@pytest.mark.parametrize(
    ("trace", "cluster", "met"), [("cluster10", "n32g8", 86), ("philly_103959", "n4g8", 131)]
)
def test_as_many_deadlines_are_met_as_in_the_second_implementation(
    shared: Path, trace: str, cluster: str, met: int
) -> None:
    run = Run("unpublished/gandiva", trace, cluster, 60)

    assert totals(*run.replay(shared)).met == met
