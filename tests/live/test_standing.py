"""What a tick costs: only what has changed is looked at, read and decoded, however many jobs are live."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.live.platform import Platform

from tenuto.live import decide, rule, standing
from tenuto.model.job import Job
from tenuto.model.phase import Phase
from tenuto.store import codec
from tenuto.store.driver import Driver
from tenuto.store.open import open_store


class Count:
    """How often something was done, and to whom."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        self.calls: list[tuple[Any, ...]] = []
        real: Callable[..., Any] = getattr(where, name)

        def counted(*args: Any, **named: Any) -> Any:
            self.calls.append(args)
            return real(*args, **named)

        monkeypatch.setattr(where, name, counted)

    def during(self, act: Callable[[], object]) -> int:
        self.calls.clear()
        act()
        return len(self.calls)


def a_platform(jobs: int = 6, **options: Any) -> tuple[Platform, list[str]]:
    platform = Platform({"węzeł-0": 4, "węzeł-1": 4}, **options)
    ids = [platform.submit(f"작업 {number}", max_workers=1, steps=1e6) for number in range(jobs)]
    return platform, ids


def test_jobs_about_which_there_is_nothing_new_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, ids = a_platform()
    looks = Count(monkeypatch, standing, "walk")

    platform.clock.now += 1.0
    assert looks.during(platform.controller.tick) == 0

    platform.wish(ids[2], pause=True, settle=False)
    assert looks.during(platform.controller.tick) == 1
    assert looks.calls[0][0].job.id == ids[2]


def test_the_end_of_a_worker_is_seen_although_its_record_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, ids = a_platform()
    looks = Count(monkeypatch, standing, "walk")

    platform.engine.end_job(ids[4])
    looks.during(platform.controller.tick)

    assert {call[0].job.id for call in looks.calls} == {ids[4]}
    platform.settle()
    assert platform.job(ids[4]).phase is Phase.SUCCEEDED


def test_after_a_change_of_the_nodes_everybody_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    platform, ids = a_platform()
    looks = Count(monkeypatch, standing, "walk")

    platform.engine.add_node("węzeł-2", 1)

    assert looks.during(platform.controller.tick) >= len(ids)


def test_a_promised_moment_that_passes_is_noticed_although_nothing_happens() -> None:
    platform = Platform({"węzeł-0": 1})
    job = platform.submit(steps=100.0, max_workers=1, deadline=150.0)
    platform.controller.tick()

    platform.pass_time(151.0)

    assert platform.job(job).promise == "broken"


def test_a_time_limit_is_heeded_although_nothing_happens() -> None:
    platform = Platform({"węzeł-0": 1})
    job = platform.submit(steps=1e6, max_workers=1, max_duration=50.0)
    platform.controller.tick()

    platform.pass_time(51.0)

    assert platform.job(job).why == "max_duration"


def test_a_time_limit_is_heeded_although_its_moment_was_reckoned_a_trifle_too_early() -> None:
    platform = Platform({"węzeł-0": 1}, start=404.0)
    job = platform.submit(steps=1e6, max_workers=1, max_duration=83.9)
    moment = 404.0 + 83.9
    assert moment - 404.0 < 83.9  # so much for numbers of so many digits

    platform.clock.now = moment
    platform.controller.tick()
    platform.clock.now += 2.0
    platform.settle()

    assert platform.job(job).why == "max_duration"


def statements(monkeypatch: pytest.MonkeyPatch, place: Path, jobs: int) -> tuple[int, int]:
    """Statements of a tick in which nothing happens, and of one in which a job is paused."""
    with closing(open_store(f"sqlite:///{place}/{jobs}.sqlite")) as store, monkeypatch.context() as patch:
        platform, ids = a_platform(jobs, store=store)
        told = Count(patch, Driver, "tell")
        idle = told.during(platform.controller.tick)
        platform.wish(ids[0], pause=True, settle=False)
        return idle, told.during(platform.controller.tick)


def test_the_number_of_live_jobs_adds_no_question_to_the_store(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few, many = statements(monkeypatch, tmp_path, 2), statements(monkeypatch, tmp_path, 8)

    assert few[0] == many[0] <= 3
    assert few[1] == many[1]


def test_what_the_platform_wrote_itself_is_never_decoded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/store.sqlite")) as store:
        decoded = Count(monkeypatch, codec.JOB, "decode")
        platform, ids = a_platform(store=store)
        platform.exit(ids[0])

        assert decoded.calls == []
        assert platform.job(ids[0]).phase is Phase.SUCCEEDED


def test_a_thousand_idle_ticks_leave_nothing_behind(tmp_path: Path) -> None:
    with closing(open_store(f"sqlite:///{tmp_path}/store.sqlite")) as store:
        platform, _ = a_platform(store=store)

        def tick(times: int) -> int:
            for _ in range(times):
                platform.clock.now += 0.01
                platform.controller.tick()
            gc.collect()
            return len(gc.get_objects())

        before = tick(10)
        assert tick(1000) - before < 200


def test_in_a_burst_of_refusals_offers_are_sought_for_a_few_and_the_others_are_told_how_to_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    platform = Platform({"węzeł-0": 1})
    monkeypatch.setattr(decide, "MOST_OFFERED", 2)
    rounds = Count(monkeypatch, rule, "run_round")
    ids = [platform.submit(steps=1000.0, deadline=10.0, settle=False) for _ in range(5)]

    platform.settle()

    jobs = [platform.job(job) for job in ids]
    assert [job.phase for job in jobs] == [Phase.DECLINED] * 5
    assert [_has_offers(job) for job in jobs] == [True, True, False, False, False]
    assert f"tenuto explain {ids[4]}" in jobs[4].message
    assert len(rounds.calls) <= 3


def _has_offers(job: Job) -> bool:
    assert job.contract is not None
    return job.contract.offers.earliest is not None
