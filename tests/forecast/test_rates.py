"""How fast a job runs at the sizes it may have."""

from __future__ import annotations

import pytest
from tests.forecast.records import NOW, a_contract, a_record

from tenuto.forecast.rates import being_measured, interpolated, next_to_measure, rate_at, rates_of, terms_of
from tenuto.model.job import Job, Pin, Reply
from tenuto.model.phase import Phase


def rates(job: Job, within: int = 64) -> dict[int, float]:
    return dict(rates_of(terms_of(job, within)))


@pytest.mark.parametrize(
    ("size", "rate", "guess"),
    [
        pytest.param(2, 6.0, False, id="measured"),
        pytest.param(4, 8.0, True, id="between two sizes on a straight line"),
        pytest.param(1, 3.0, True, id="below the smallest in proportion"),
        pytest.param(16, 10.0, True, id="above the largest no faster than there"),
    ],
)
def test_unmeasured_sizes_are_guessed_and_marked(size: int, rate: float, guess: bool) -> None:
    assert rate_at({2: 6.0, 6: 10.0}, size) == (rate, guess)


def test_a_curve_counts_within_the_limits_of_the_job() -> None:
    job = a_record(1, spec={"min_workers": 2, "max_workers": 4}, curve={1: 1.0, 2: 1.8, 4: 3.0, 8: 5.0})

    assert rates(job) == {2: 1.8, 4: 3.0}
    assert rates(job, within=3) == {2: 1.8}


def test_a_curve_that_knows_no_allowed_size_is_guessed_at_the_limits() -> None:
    assert rates(a_record(1, spec={"min_workers": 2, "max_workers": 3}, curve={1: 1.0, 4: 4.0})) == {
        2: 2.0,
        3: 3.0,
    }


def test_without_a_curve_the_rate_is_in_proportion_to_the_workers() -> None:
    assert rates(a_record(1, spec={"min_workers": 3, "max_workers": 9}, curve={})) == {
        3: 3.0,
        4: 4.0,
        8: 8.0,
        9: 9.0,
    }


def test_a_pinned_job_has_one_size_and_it_may_be_a_guess() -> None:
    job = a_record(1, pin=Pin(workers=3))

    assert rates(job) == {3: 3.0}
    assert interpolated(job) == (3,)
    assert interpolated(a_record(1)) == ()


def test_a_job_released_from_its_pin_may_keep_its_size() -> None:
    job = a_record(1, slots={"node-0": (0, 1, 2)})

    assert rates(job) == {1: 1.0, 2: 2.0, 3: 3.0, 4: 4.0}


def test_sizes_are_measured_from_the_smallest_doubling() -> None:
    spec = {"auto": True, "max_workers": 16}
    job = a_record(1, spec=spec, curve={}, deadline=NOW + 60.0, contract=a_contract(Reply.MEASURING))

    assert rates(job) == {1: 1.0}
    assert next_to_measure(a_record(1, spec=spec, curve={1: 3.0}), 64) == 2
    assert next_to_measure(a_record(1, spec=spec, curve={1: 3.0, 2: 5.0, 4: 9.0}), 64) == 0
    assert next_to_measure(a_record(1, spec=spec, curve={1: 3.0}), within=1) == 0
    assert next_to_measure(a_record(1, spec=spec, curve={}, pin=Pin(workers=3)), 64) == 3


def test_only_a_deadline_is_worth_measuring_for() -> None:
    asking = a_record(1, spec={"auto": True}, curve={}, deadline=NOW + 60.0)

    assert being_measured(asking)
    assert not being_measured(a_record(1, spec={"auto": True}, curve={}))
    assert not being_measured(a_record(1, spec={"auto": True}, deadline=NOW + 60.0, phase=Phase.RUNNING))
    assert not being_measured(a_record(1, curve={}, deadline=NOW + 60.0))
