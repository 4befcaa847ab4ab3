"""A rescale in place is charged as rescales were measured; next to jobs that are restarted, as it is set."""

from __future__ import annotations

import pytest
from tests.live.platform import Platform

from tenuto.forecast.pauses import PAUSES, with_pauses

SET = 5.0


def charged(pauses: int, newcomer: str) -> float:
    """Seconds without progress for a job that rescales in place when another one comes and needs some of its slots.

    Training stood still for 600 ms so many times before.
    """
    here = Platform(rescale_cost=SET)
    stored = with_pauses({}, "allreduce", [600.0] * pauses)
    here.store.write(lambda tx: tx.set_meta(PAUSES, stored))
    job = here.submit(strategy="allreduce", steps=1000.0)
    here.pass_time(10.0)
    here.submit("새로운", strategy=newcomer, steps=1000.0)
    assert here.job(job).workers == 2
    return here.job(job).progress.ready_at - here.clock.now


@pytest.mark.parametrize(("pauses", "seconds"), [(0, SET), (2, SET), (20, 0.9)])
def test_the_measured_cost_counts_when_enough_was_measured(pauses: int, seconds: float) -> None:
    assert charged(pauses, "allreduce") == pytest.approx(seconds)


def test_next_to_a_job_that_is_restarted_the_setting_counts() -> None:
    assert charged(20, "command") == pytest.approx(SET)
