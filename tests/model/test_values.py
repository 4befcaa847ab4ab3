"""The frozen values that everybody passes around."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot

from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.model.cost import Cost
from tenuto.model.curve import Curve, Profiles
from tenuto.model.plan import Answer, Verdict, Why
from tenuto.model.reservations import Reservations, Segment, no_reservations
from tenuto.model.snapshot import worth_using


def test_a_regular_cluster_numbers_its_slots_node_after_node() -> None:
    cluster = Cluster.regular("two-by-two", switches=2, nodes=2, slots=3)

    assert cluster.total == 12
    assert cluster.switch.tolist() == [0, 0, 1, 1]
    assert cluster.first_slot.tolist() == [0, 3, 6, 9, 12]
    assert cluster.node_of_slot.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert cluster.node_names == ("node-0", "node-1", "node-2", "node-3")


def test_a_frozen_column_cannot_be_written() -> None:
    column = frozen(np.zeros(3))

    with pytest.raises(ValueError, match="read-only"):
        column[0] = 1.0


def test_sizes_that_are_no_faster_than_a_smaller_one_are_not_worth_using() -> None:
    curve = Curve({8: 10.0, 1: 1.0, 2: 2.0, 4: 2.0, 16: 9.0})

    assert curve.worth_using().rate == {1: 1.0, 2: 2.0, 8: 10.0}


def test_columns_and_curves_agree_on_what_is_worth_using() -> None:
    rate = np.array([[1.0, 2.0, 2.0, 10.0, 9.0], [0.0, 3.0, 0.0, 2.0, 4.0]])

    assert worth_using(rate).tolist() == [[1.0, 2.0, 0.0, 10.0, 0.0], [0.0, 3.0, 0.0, 0.0, 4.0]]


def test_profiles_list_what_they_know() -> None:
    curves = {
        ("vgg", 64): Curve({1: 1.0, 4: 3.0}),
        ("bert", 32): Curve({2: 1.0}),
        ("vgg", 32): Curve({1: 2.0}),
    }
    profiles = Profiles("t4", "measured", curves)

    assert profiles.sizes == (1, 2, 4)
    assert profiles.models() == ("bert", "vgg")
    assert profiles.batches("vgg") == (32, 64)
    assert profiles.batches("gpt") == ()


def test_a_cost_by_size_is_the_same_for_a_start_a_rescale_and_a_move() -> None:
    cost = Cost.by_size(np.array([1, 2, 4]), lambda size: 10.0 * size)

    assert cost.start.tolist() == cost.rescale.tolist() == cost.move.tolist() == [10.0, 20.0, 40.0]


def test_lost_slots_are_no_capacity() -> None:
    snap = a_snapshot(jobs=[a_job(), a_job()], nodes=(4, 8), lost=[0])

    assert snap.capacity == 8
    assert len(snap) == 2


def test_a_reservation_is_read_by_job_number() -> None:
    booked = Reservations(
        number=np.array([3, 8]),
        offset=np.array([1, 0]),
        parts=np.array([2, 1]),
        end=np.array([40.0, 99.0]),
        at=np.array([5.0, 0.0, 20.0]),
        size=np.array([1, 2, 4]),
    )

    assert booked.of(3) == (Segment(0.0, 20.0, 2), Segment(20.0, 40.0, 4))
    assert booked.of(8) == (Segment(5.0, 99.0, 1),)
    assert booked.of(5) == booked.of(9) == no_reservations().of(3) == ()


@pytest.mark.parametrize(
    ("verdict", "sentence"),
    [
        (Verdict(Answer.ADMITTED, Why.FITS, promised=600.4, share=4), "finishes by 600, 4 slots reserved"),
        (
            Verdict(Answer.QUEUED, Why.NO_PROMISE_ASKED),
            "has no deadline: runs on what the promised jobs leave",
        ),
        (
            Verdict(Answer.QUEUED, Why.POLICY_GIVES_NONE),
            "runs in the policy's order: this policy gives no promise",
        ),
        (Verdict(Answer.DECLINED, Why.DEADLINE_INFEASIBLE), "cannot finish by its deadline"),
        (
            Verdict(Answer.DECLINED, Why.DEADLINE_INFEASIBLE, earliest=80.0),
            "cannot finish by its deadline; 80 could be promised",
        ),
        (
            Verdict(Answer.UNSCHEDULABLE, Why.TOO_LARGE),
            "this cluster is not large enough to run the job",
        ),
    ],
)
def test_every_verdict_has_a_sentence(verdict: Verdict, sentence: str) -> None:
    assert str(verdict) == sentence
    assert verdict.refused == (verdict.answer in (Answer.DECLINED, Answer.UNSCHEDULABLE))
