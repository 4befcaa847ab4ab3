"""What a rescale costs: as set, or as measured where all jobs rescale in place."""

from __future__ import annotations

from math import inf, nan

import pytest

from tenuto.forecast.pauses import ENOUGH, LEAST, MOST_KEPT, rescale_charge, with_pauses

SET = 5.0


def measured(*pauses: float) -> dict[str, list[float]]:
    return with_pauses({}, "allreduce", pauses)


def test_the_setting_counts_until_enough_was_measured() -> None:
    few = rescale_charge(SET, measured(*[100.0] * (ENOUGH - 1)), ["allreduce"])

    assert (few.seconds, few.why.partition(":")[0]) == (SET, "as set")
    assert rescale_charge(SET, {}, ["allreduce"]).seconds == SET


def test_a_high_pause_counts_with_room_to_spare() -> None:
    pauses = [100.0] * 17 + [2000.0, 2000.0, 90_000.0]

    charge = rescale_charge(SET, measured(*pauses), ["allreduce"])

    assert charge.seconds == pytest.approx(3.0), "1.5 times the pause below which 9 of 10 are"
    assert "20 rescales" in charge.why


def test_nothing_costs_less_than_a_round() -> None:
    assert rescale_charge(SET, measured(*[1.0] * 50), ["allreduce"]).seconds == LEAST


def test_one_job_that_is_restarted_makes_the_larger_cost_count_for_all() -> None:
    stored = measured(*[100.0] * 50)

    assert rescale_charge(SET, stored, ["allreduce", "command"]).seconds == SET
    assert rescale_charge(0.1, stored, ["allreduce", "command"]).seconds == LEAST
    assert rescale_charge(SET, stored, ["command"]).seconds == SET
    assert rescale_charge(SET, stored, []).seconds == SET


def test_only_the_newest_pauses_count() -> None:
    stored = with_pauses(measured(*[9000.0] * MOST_KEPT), "allreduce", [100.0] * MOST_KEPT)

    assert rescale_charge(SET, stored, ["allreduce"]).seconds == LEAST


@pytest.mark.parametrize("pause", [nan, inf, -1.0])
def test_what_is_no_pause_is_left_out(pause: float) -> None:
    assert measured(pause, 7.0) == {"allreduce": [7.0]}
