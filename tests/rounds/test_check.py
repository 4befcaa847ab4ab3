"""Every way in which a plan can be wrong is refused, whoever proposed it."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot

from tenuto.errors import PlanRefused
from tenuto.model.columns import Ints
from tenuto.model.plan import Decision
from tenuto.model.snapshot import IDLE, UNUSABLE, Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.check import check
from tenuto.rounds.round import run_round


def a_picture() -> Snapshot:
    """Two jobs with sizes 1, 2 and 4 on two nodes of four; the second node is lost."""
    jobs = [a_job(curve={1: 1.0, 2: 2.0, 4: 4.0}) for _ in range(2)]
    return a_snapshot(jobs=jobs, nodes=(4, 4), lost=[1])


def sizes(*slots: int) -> Ints:
    return np.array(slots, dtype=np.int64)


def layout(*jobs: int) -> Ints:
    """The first node; the second one is lost."""
    return np.array([*jobs, *(UNUSABLE,) * 4], dtype=np.int64)


def decided(*slots: int, modest: Ints | None = None) -> Decision:
    return Decision(sizes(*slots), {}, np.inf, modest=modest)


def test_a_plan_that_does_what_was_decided_passes() -> None:
    granted = check(a_picture(), decided(2, 1), layout(0, 0, 1, IDLE))

    assert granted.tolist() == [2, 1]


def test_who_found_no_place_may_be_left_out() -> None:
    assert check(a_picture(), decided(2, 4), layout(0, 0, IDLE, IDLE)).tolist() == [2, 0]


def test_the_modest_size_will_do() -> None:
    granted = check(a_picture(), decided(2, 4, modest=sizes(2, 1)), layout(0, 0, 1, IDLE))

    assert granted.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("slots", "where", "why"),
    [
        pytest.param((2, 1, 1), layout(0, 0, 1, IDLE), "not about the jobs and slots", id="jobs too many"),
        pytest.param((2,), layout(0, 0, IDLE, IDLE), "not about the jobs and slots", id="jobs too few"),
        pytest.param((2, 1), layout(0, 0, 1), "not about the jobs and slots", id="slots too few"),
        pytest.param((2, 1), layout(0, 0, 7, 1), "slot 2: given to a job that is not there", id="stranger"),
        pytest.param((1, 0), np.full(8, IDLE), "on a node that is not", id="lost node used"),
        pytest.param(
            (1, 0), layout(0, UNUSABLE, IDLE, IDLE), "slot 1: .* on a node that is not", id="good slot lost"
        ),
        pytest.param(
            (3, 0), layout(0, 0, 0, IDLE), "job 0: 3 slots is no size of its curve", id="off the curve"
        ),
        pytest.param(
            (2, 1), layout(0, 0, 1, 1), "job 1: placed on 2 slots, decided 1", id="more than decided"
        ),
        pytest.param((4, 0), layout(0, 0, IDLE, IDLE), "job 0: placed on 2 slots, decided 4", id="less"),
    ],
)
def test_a_wrong_plan_is_refused(slots: tuple[int, ...], where: Ints, why: str) -> None:
    with pytest.raises(PlanRefused, match=why):
        check(a_picture(), decided(*slots), where)


def test_a_size_that_another_job_has_but_this_one_has_not_is_refused() -> None:
    jobs = [a_job(curve={1: 1.0}), a_job(curve={2: 2.0})]

    with pytest.raises(PlanRefused, match="job 0: 2 slots is no size of its curve"):
        check(a_snapshot(jobs=jobs, nodes=(2,)), decided(2, 0), sizes(0, 0))


def test_a_policy_that_gives_away_more_than_there_is_is_refused_by_name() -> None:
    greedy = Policy("greedy", "Everything to everybody.", lambda _: decided(4, 4), promises=False)

    with pytest.raises(PlanRefused, match="greedy gave 8 of 4 slots"):
        run_round(a_picture(), greedy)
