"""Every way in which a plan can be wrong is refused, whoever proposed it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot

from tenuto.errors import PlanRefused
from tenuto.model.columns import Ints
from tenuto.model.plan import Answer, Decision, Verdict, Why
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


QUEUED = Verdict(Answer.QUEUED, Why.NO_PROMISE_ASKED)
REFUSED = Verdict(Answer.UNSCHEDULABLE, Why.TOO_LARGE)

WRONG = {
    "too much": (decided(4, 4), "greedy gave 8 of 4 slots"),
    "less than nothing": (decided(-1, 1), "greedy gave -1 slots to row 0"),
    "nothing at all": (None, "greedy returned None and not a Decision"),
    "a list": (Decision([1, 1], {}, np.inf), "greedy: sizes is not a column of 2 whole numbers"),  # type: ignore[arg-type]
    "broken numbers": (Decision(np.ones(2), {}, np.inf), "sizes is not a column"),  # type: ignore[arg-type]
    "too few rows": (decided(1), "sizes is not a column"),
    "at once again": (Decision(sizes(1, 1), {}, 0.0), r"asked again at 0\.0, and it is 0\.0"),
    "at no time": (Decision(sizes(1, 1), {}, float("nan")), "asked again at nan"),
    "an answer too many": (Decision(sizes(1, 1), {0: QUEUED}, np.inf), r"answered rows \[0\], but \[\] are"),
}


@pytest.mark.parametrize(("decision", "why"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_decision_is_refused_by_the_policys_name(decision: Any, why: str) -> None:
    greedy = Policy("greedy", "Everything to everybody.", lambda _: decision, promises=False)

    with pytest.raises(PlanRefused, match=why):
        run_round(a_picture(), greedy)


@pytest.mark.parametrize(
    ("verdicts", "why"),
    [
        pytest.param({}, r"answered rows \[\], but \[1\] are new", id="no answer"),
        pytest.param({0: QUEUED}, r"answered rows \[0\], but \[1\] are new", id="to somebody else"),
        pytest.param({1: REFUSED}, "refused row 1 and gave it 1 slots", id="no, and yes"),
    ],
)
def test_each_newcomer_wants_one_answer(verdicts: dict[int, Verdict], why: str) -> None:
    snap = a_snapshot(jobs=[a_job(), a_job(new=True)])
    shy = Policy("shy", "Says little.", lambda _: Decision(sizes(1, 1), verdicts, np.inf), promises=False)

    with pytest.raises(PlanRefused, match=f"shy {why}"):
        run_round(snap, shy)
