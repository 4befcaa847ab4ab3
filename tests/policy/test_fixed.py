"""What policies with fixed sizes share: who can run, who fits in an order, and columns that find their rows again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import LINEAR, a_job, a_snapshot

from tenuto.model.columns import Ints
from tenuto.model.plan import Answer, Why
from tenuto.policy.fixed import carried, first_fit, requested_level, rows_then, verdicts, wishes_of


def ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def test_a_wish_is_read_from_the_curve_at_the_requested_size() -> None:
    snap = a_snapshot(jobs=[a_job(curve=LINEAR, size=4), a_job(curve={2: 3.0})])

    wishes = wishes_of(snap)

    assert snap.sizes[wishes.level].tolist() == [4, 2]
    assert wishes.rate.tolist() == [4.0, 3.0]
    assert wishes.able.all()


def test_who_asks_for_a_size_off_its_curve_or_off_all_curves_cannot_run() -> None:
    snap = a_snapshot(jobs=[a_job(curve={1: 1.0}), a_job(curve={2: 2.0}), a_job(curve={8: 8.0})])
    snap = replace(snap, requested=ints(8, 3, 16))

    wishes = wishes_of(snap)

    assert requested_level(snap).tolist() == [2, -1, -1]
    assert wishes.rate.tolist() == [0.0, 0.0, 0.0]
    assert not wishes.able.any()


def test_who_asks_for_more_than_is_left_of_the_cluster_cannot_run_for_now() -> None:
    snap = a_snapshot(jobs=[a_job(size=4), a_job(size=8)], nodes=(4, 4), lost=[1])

    assert wishes_of(snap).able.tolist() == [True, False]


def test_first_fit_passes_over_who_does_not_fit() -> None:
    snap = a_snapshot(jobs=[a_job(size=size) for size in (2, 8, 4, 4, 2)])

    assert first_fit(snap, ints(0, 1, 2, 3, 4)).tolist() == [2, 0, 4, 0, 2]
    assert first_fit(snap, ints(1, 0, 2, 3, 4)).tolist() == [0, 8, 0, 0, 0]


def test_who_is_not_in_the_order_gets_nothing() -> None:
    snap = a_snapshot(jobs=[a_job(size=2), a_job(size=2)])

    assert first_fit(snap, ints(1)).tolist() == [0, 2]
    assert first_fit(snap, ints()).tolist() == [0, 0]


@settings(max_examples=200)
@given(
    sizes=st.lists(st.sampled_from([1, 2, 3, 5, 8]), max_size=12), slots=st.integers(1, 20), data=st.data()
)
def test_first_fit_is_what_going_through_the_order_one_by_one_gives(
    sizes: list[int], slots: int, data: st.DataObject
) -> None:
    snap = a_snapshot(jobs=[a_job(curve={size: 1.0}) for size in sizes], nodes=(slots,))
    order = data.draw(st.permutations(range(len(sizes))))

    expected, spare = [0] * len(sizes), slots
    for row in order:
        if sizes[row] <= spare:
            expected[row] = sizes[row]
            spare -= sizes[row]

    assert first_fit(snap, ints(*order)).tolist() == expected


def test_everybody_may_wait_except_who_asks_for_more_slots_than_there_are() -> None:
    snap = a_snapshot(
        jobs=[
            a_job(size=8, new=True, deadline=10.0),
            a_job(curve={1: 1.0, 16: 16.0}, size=16, new=True),
            a_job(size=1, new=True),
            a_job(size=1),
        ]
    )

    answers = {row: (verdict.answer, verdict.why) for row, verdict in verdicts(snap).items()}

    assert answers == {
        0: (Answer.QUEUED, Why.POLICY_GIVES_NONE),
        1: (Answer.UNSCHEDULABLE, Why.TOO_LARGE),
        2: (Answer.QUEUED, Why.NO_PROMISE_ASKED),
    }


def test_a_remembered_column_finds_its_rows_again() -> None:
    snap = replace(a_snapshot(jobs=[a_job() for _ in range(4)]), number=ints(2, 3, 5, 9))

    rows = rows_then(snap, ints(1, 3, 4, 5))

    assert rows.tolist() == [-1, 1, 3, -1]
    assert carried(np.array([10.0, 30.0, 40.0, 50.0]), rows, 0.5).tolist() == [0.5, 30.0, 50.0, 0.5]


def test_before_anything_is_remembered_everybody_is_new() -> None:
    snap = a_snapshot(jobs=[a_job(), a_job()])

    rows = rows_then(snap, ints())

    assert carried(np.empty(0), rows, 7.0).tolist() == [7.0, 7.0]
