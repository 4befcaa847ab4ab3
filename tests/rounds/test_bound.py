"""Jobs that may not run everywhere are where they may be, and everybody else goes round them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import a_job, a_snapshot
from tests.properties.checks import assert_actions_lead_to_the_plan, assert_possible
from tests.properties.strategies import snapshots

from tenuto.errors import PlanRefused
from tenuto.model.columns import Ints
from tenuto.model.plan import NEVER, RATHER_NOT, Decision
from tenuto.model.snapshot import IDLE, UNUSABLE, Placement, Rules, Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.check import check
from tenuto.rounds.placement import place
from tenuto.rounds.round import run_round


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def bound_to(snap: Snapshot, bound: Mapping[int, Sequence[int]]) -> Snapshot:
    return replace(snap, bound={row: ints(*most) for row, most in bound.items()})


def decided(*sizes: int, reluctance: Ints | None = None) -> Decision:
    return Decision(ints(*sizes), {}, np.inf, reluctance=reluctance)


def test_a_job_bound_to_a_node_starts_there_though_another_has_more_room() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job()], nodes=(4, 2)), {0: (0, 2)})

    assert place(snap, decided(2)).tolist() == [IDLE] * 4 + [0, 0]


def test_a_pin_per_node_gets_exactly_so_many_slots_on_each() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job()], nodes=(4, 4, 4)), {0: (1, 0, 3)})

    layout = place(snap, decided(4))

    assert np.bincount(snap.cluster.node_of_slot[layout == 0], minlength=3).tolist() == [1, 0, 3]


def test_a_bound_job_keeps_the_slots_it_has() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job(on=[2, 3]), a_job()], nodes=(4, 4)), {0: (4, 0)})

    assert place(snap, decided(2, 4)).tolist() == [IDLE, IDLE, 0, 0, 1, 1, 1, 1]


def test_a_bound_job_that_keeps_its_size_is_not_robbed_by_one_that_grows() -> None:
    jobs = [a_job(on=[0]), a_job(on=[1, 2])]
    snap = bound_to(a_snapshot(jobs=jobs, nodes=(4,)), {0: (4,), 1: (4,)})

    assert place(snap, decided(2, 2)).tolist() == [0, 1, 1, 0]


def test_others_make_room_for_a_bound_job() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job(on=[0, 1]), a_job()], nodes=(2, 2)), {1: (2, 0)})

    assert place(snap, decided(2, 2)).tolist() == [1, 1, 0, 0]


def test_a_bound_job_prefers_the_slots_of_who_moves_gladly() -> None:
    jobs = [a_job(on=[0]), a_job(on=[1]), a_job()]
    snap = bound_to(a_snapshot(jobs=jobs, nodes=(2, 1)), {2: (2, 0)})

    layout = place(snap, decided(1, 1, 1, reluctance=ints(RATHER_NOT, 0, 0)))

    assert layout.tolist() == [0, 2, 1]


def test_a_bound_job_waits_rather_than_break_a_promise_by_a_move() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job(on=[0, 1]), a_job()], nodes=(2, 2)), {1: (2, 0)})

    assert place(snap, decided(2, 2, reluctance=ints(NEVER, 0))).tolist() == [0, 0, IDLE, IDLE]


def test_a_bound_job_that_does_not_fit_gets_nothing_this_round() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job(on=[0, 1]), a_job()], nodes=(2, 2)), {0: (2, 0), 1: (2, 0)})

    assert place(snap, decided(2, 2)).tolist() == [0, 0, IDLE, IDLE]


def test_a_bound_job_whose_node_is_lost_gets_nothing() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job()], nodes=(2, 2), lost=[0]), {0: (2, 0)})

    assert place(snap, decided(2)).tolist() == [UNUSABLE, UNUSABLE, IDLE, IDLE]


def test_others_pass_a_bound_job_that_waits_for_its_node() -> None:
    jobs = [a_job(on=[0, 1], size=2), a_job(new=True, size=2), a_job(new=True, size=2)]
    snap = bound_to(a_snapshot(jobs=jobs, nodes=(2, 2)), {0: (2, 0), 1: (2, 0)})

    decided = run_round(snap, POLICIES["fifo"])

    assert decided.plan.layout.tolist() == [0, 0, 2, 2]
    assert sorted(decided.verdicts) == [1, 2]
    assert [action.number for action in decided.actions] == [2]


def test_a_layout_with_a_bound_job_elsewhere_is_refused() -> None:
    snap = bound_to(a_snapshot(jobs=[a_job()], nodes=(2, 2)), {0: (1, 1)})

    with pytest.raises(PlanRefused, match="job 0: 2 slots on node node-0, where it may have 1"):
        check(snap, decided(2), ints(0, 0, IDLE, IDLE))


@st.composite
def bound_snapshots(draw: st.DrawFn) -> Snapshot:
    """Snapshots in which some waiting jobs may be on some nodes only, and some running ones where they are."""
    snap = draw(snapshots())
    bound: dict[int, Ints] = {}
    for row in range(len(snap)):
        if not draw(st.booleans()):
            continue
        nodes = snap.cluster.node_of_slot[snap.layout == snap.number[row]]
        present = np.bincount(nodes, minlength=len(snap.cluster.slots)).astype(np.int64)
        limits = [
            draw(st.integers(int(least), int(most)))
            for least, most in zip(present, snap.cluster.slots, strict=True)
        ]
        bound[row] = ints(*limits)
    return replace(snap, bound=bound or None)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=20)
@given(snap=bound_snapshots())
def test_under_every_policy_bound_jobs_are_never_elsewhere(policy: Policy, snap: Snapshot) -> None:
    result = run_round(snap, policy)

    assert_possible(snap, result)
    assert_actions_lead_to_the_plan(snap, result)
    for row, most in (snap.bound or {}).items():
        nodes = snap.cluster.node_of_slot[result.plan.layout == snap.number[row]]
        assert (np.bincount(nodes, minlength=len(most)) <= most).all()


@settings(max_examples=40)
@given(snap=snapshots(), placement=st.sampled_from(Placement))
def test_binding_everybody_to_all_nodes_takes_slots_from_nobody(snap: Snapshot, placement: Placement) -> None:
    snap = replace(snap, rules=Rules(placement=placement))
    everywhere = dict.fromkeys(range(len(snap)), snap.cluster.slots)

    free = run_round(snap, POLICIES["fifo"])
    bound = run_round(replace(snap, bound=everywhere), POLICIES["fifo"])

    def held(layout: Ints) -> list[int]:
        return [int(np.count_nonzero(layout == number)) for number in snap.number]

    assert held(bound.plan.layout) == held(free.plan.layout)
