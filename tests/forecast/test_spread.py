"""Quantiles of what became of forecasts: with no past, little of it, enough, and jobs that are not done yet."""

from __future__ import annotations

import random
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forecast.records import NOW, a_record

from tenuto.forecast.spread import (
    MOST_KEPT,
    SITUATIONS,
    Factors,
    Known,
    cohorts,
    factors,
    noted,
    past_in,
    ratio,
    situation,
)
from tenuto.model.job import ANSWERED, Foretold

GIVEN = "runs/free/given"


def told(estimate: float = 100.0, *, at: float = NOW, where: str = GIVEN) -> Foretold:
    """A forecast made at a moment, of an end so many seconds later."""
    end = at + estimate
    return Foretold(moment=ANSWERED, at=at, finish=end, late=end, estimate=end, situation=where)


def known(*ratios: float, over: bool = True) -> list[Known]:
    return [Known(NOW + index, one, over) for index, one in enumerate(ratios)]


def test_where_the_curve_is_given_and_nothing_is_known_both_moments_are_the_estimate() -> None:
    assert factors({}, GIVEN) == Factors(1.0, 1.0)
    assert factors({}, GIVEN).told(NOW, NOW + 60.0) == (NOW + 60.0, NOW + 60.0)


def test_a_curve_that_nobody_gave_is_believed_to_be_uncertain() -> None:
    by_profile, by_nothing = factors({}, "runs/free/profile"), factors({}, "runs/free/unknown")

    assert 1.0 < by_profile.late < by_nothing.late
    assert by_profile.median == pytest.approx(1.0, abs=0.05)


def test_a_few_jobs_that_took_longer_move_the_late_moment_before_the_median() -> None:
    off = factors({GIVEN: known(1.5, 1.5)}, GIVEN)

    assert off.median == 1.0
    assert off.late == 1.5


def test_with_many_jobs_the_past_alone_speaks() -> None:
    off = factors({GIVEN: known(*(1.0 + one / 100 for one in range(1, 100)))}, GIVEN)

    assert off.median == pytest.approx(1.50)
    assert off.late == pytest.approx(1.90)


def test_a_new_situation_learns_from_others_like_it() -> None:
    past = {"runs/promised/given": known(*[2.0] * 40), "waits/free/given": known(*[9.0] * 40)}

    assert factors(past, GIVEN) == Factors(2.0, 2.0)


def test_jobs_that_are_not_done_yet_count_as_longer_than_they_are() -> None:
    quick = known(*[0.5] * 30)
    still_on_their_way = known(*[0.6] * 30, over=False)

    alone, both = factors({GIVEN: quick}, GIVEN), factors({GIVEN: [*quick, *still_on_their_way]}, GIVEN)

    assert alone.late == 0.5
    assert both.late == 0.6


def test_quantiles_hold_for_the_next_job_when_all_are_drawn_alike() -> None:
    draws = random.Random(7)
    past: list[tuple[float, float]] = []
    by_median = by_late = 0
    for at in range(600):
        truth = exp(0.4 * draws.gauss(0.0, 1.0))
        off = factors(cohorts({GIVEN: past}, [], 0.0), GIVEN)
        if at >= 100:
            by_median += truth <= off.median
            by_late += truth <= off.late
        past = noted(past, told(at=float(at)), float(at) + truth * 101.0 - 1.0)

    assert by_median / 500 == pytest.approx(0.5, abs=0.06)
    assert by_late / 500 == pytest.approx(0.9, abs=0.04)


def test_only_the_newest_forecasts_are_remembered_whoever_ends_last() -> None:
    past: list[tuple[float, float]] = []
    for at in range(MOST_KEPT + 10):
        past = noted(past, told(at=float(at)), at + 100.0)
    past = noted(past, told(at=0.5), 1e6)  # it was foretold long ago, and ends now

    assert len(past) == MOST_KEPT
    assert [one for _, one in past] == [1.0] * MOST_KEPT


def test_a_job_is_counted_once_in_each_situation_it_was_in() -> None:
    waits = told(where="waits/free/given")
    live = [[told(at=NOW), told(at=NOW)], [waits, told(at=NOW + 5.0)]]

    found = cohorts({}, live, NOW + 50.0)

    assert {where: len(there) for where, there in found.items()} == {GIVEN: 2, "waits/free/given": 1}
    assert not any(one.over for there in found.values() for one in there)


def test_a_second_more_or_less_is_no_news_of_a_short_job() -> None:
    assert ratio(told(0.0), NOW + 0.5) == 1.5
    assert ratio(told(0.0), NOW + 1e9) == 100.0
    assert ratio(told(10.0), NOW - 5.0) == pytest.approx(1 / 11)


@given(st.floats(0.0, 1e9), st.floats(0.01, 100.0), st.floats(0.01, 100.0))
def test_the_late_moment_is_never_before_the_median_nor_that_in_the_past(
    ahead: float, median: float, late: float
) -> None:
    first, second = Factors(median, late).told(NOW, NOW + ahead)

    assert NOW <= first <= second


def test_what_decides_about_a_forecast_is_told_by_the_record() -> None:
    given_by = {
        "given": a_record(),
        "profile": a_record(curve_from="as the jobs of this kind"),
        "measured": a_record(spec={"auto": True}),
        "unknown": a_record(curve={}),
    }
    for name, job in given_by.items():
        assert situation(job, runs=True, promised=False) == f"runs/free/{name}"
        assert situation(job, runs=False, promised=True) in SITUATIONS


def test_the_past_is_looked_up_in_the_store() -> None:
    stored = {f"ratios/{GIVEN}": [[NOW, 1.5]], "ratios/elsewhere": [[NOW, 9.0]]}

    assert cohorts(past_in(stored.get), [], NOW) == {GIVEN: [Known(NOW, 1.5, True)]}
