"""What the controller says about the ends of jobs, and how it learns from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from tests.live.platform import Platform

from tenuto.forecast.spread import RATIOS
from tenuto.model.job import ANSWERED, STARTED, Foretold
from tenuto.model.phase import Phase
from tenuto.store.base import StoreUnavailable, Tx
from tenuto.store.memory import MemoryStore

T = TypeVar("T")
RUNS, WAITS = "runs/free/given", "waits/free/given"


def told(platform: Platform, job: str) -> dict[str, Foretold]:
    return {one.moment: one for one in platform.job(job).foretold}


def past(platform: Platform, situation: str) -> list[Any]:
    return platform.store.read(lambda tx: tx.meta(RATIOS + situation)) or []


def test_a_job_that_starts_at_once_is_foretold_as_answered_and_as_started() -> None:
    platform = Platform()
    job = platform.submit()

    both = told(platform, job)
    assert set(both) == {ANSWERED, STARTED}
    assert {one.finish for one in both.values()} == {1025.0}
    assert {one.situation for one in both.values()} == {RUNS}


def test_a_job_that_waits_is_foretold_again_when_it_gets_its_first_slots() -> None:
    platform = Platform(policy="fifo")
    first = platform.submit(min_workers=4)
    second = platform.submit(min_workers=4)
    assert set(told(platform, second)) == {ANSWERED}
    assert told(platform, second)[ANSWERED].finish == 1050.0
    assert "estimated finish" in platform.job(second).message
    contract = platform.job(second).contract
    assert contract is not None and contract.expected == 1050.0

    platform.clock.now += 30.0
    platform.exit(first)

    assert told(platform, second)[ANSWERED].at == 1000.0
    assert (told(platform, second)[STARTED].at, told(platform, second)[STARTED].finish) == (1030.0, 1055.0)


def test_promised_jobs_are_foretold_by_all_slots_they_will_have() -> None:
    platform = Platform()
    job = platform.submit(deadline=80.0)

    assert told(platform, job)[ANSWERED].finish == 1025.0
    assert told(platform, job)[ANSWERED].situation == "runs/promised/given"


def test_what_became_of_a_forecast_is_remembered_when_the_job_is_done() -> None:
    platform = Platform()
    job = platform.submit()
    platform.clock.now += 51.0
    platform.exit(job)

    assert platform.phase(job) is Phase.SUCCEEDED
    assert past(platform, RUNS) == [[1000.0, 2.0]]


@pytest.mark.parametrize("wish", [{"cancel": True}, {"pause": True}])
def test_nothing_is_learned_from_jobs_that_were_stopped(wish: dict[str, bool]) -> None:
    platform = Platform()
    job = platform.submit()
    platform.clock.now += 51.0
    platform.wish(job, **wish)

    assert past(platform, RUNS) == []


def test_a_failed_job_teaches_nothing() -> None:
    platform = Platform()
    job = platform.submit()
    platform.clock.now += 51.0
    platform.exit(job, code=3)

    assert (platform.phase(job), past(platform, RUNS)) == (Phase.FAILED, [])


def test_a_new_answer_voids_what_was_foretold_before() -> None:
    platform = Platform()
    job = platform.submit()
    platform.wish(job, pause=True)
    platform.clock.now += 500.0
    platform.wish(job, pause=False)

    assert {one.at for one in platform.job(job).foretold} == {1500.0}
    assert len(platform.job(job).foretold) == 2


def test_later_forecasts_use_what_was_learned() -> None:
    platform = Platform()
    for _ in range(30):
        job = platform.submit()
        platform.clock.now += 51.0
        platform.exit(job)
    now = platform.clock.now

    job = platform.submit()

    assert told(platform, job)[STARTED].estimate == now + 25.0
    assert told(platform, job)[STARTED].finish == now + 51.0


def test_the_next_controller_goes_on_with_what_was_foretold_and_learned() -> None:
    platform = Platform(policy="fifo")
    first = platform.submit(min_workers=4)
    second = platform.submit(min_workers=4)
    before = platform.job(second).foretold
    platform.new_controller()
    platform.settle()

    assert platform.job(second).foretold == before
    platform.clock.now += 25.0
    platform.exit(first)
    platform.new_controller()
    platform.clock.now += 25.0
    platform.exit(second)
    assert past(platform, WAITS) == [[1000.0, 1.0]]
    assert [one for _, one in past(platform, RUNS)] == [1.0, 1.0]


class LosesItsAnswers(MemoryStore):
    """A store whose next write is done, but nobody hears of it: as if the controller were killed in that moment."""

    silent = False

    def write(self, act: Callable[[Tx], T]) -> T:
        result = super().write(act)
        if self.silent:
            self.silent = False
            raise StoreUnavailable("the connection was lost")
        return result


def test_a_ratio_counts_once_though_the_controller_was_killed_when_it_was_written() -> None:
    store = LosesItsAnswers()
    platform = Platform(store=store)
    job = platform.submit()
    platform.clock.now += 51.0
    platform.engine.end_job(job, 0)
    platform.controller.tick()

    while platform.phase(job) is not Phase.SUCCEEDED:
        store.silent = True
        try:
            platform.controller.tick()
        except StoreUnavailable:
            platform.new_controller()
    platform.settle()

    assert past(platform, RUNS) == [[1000.0, 2.0]]
