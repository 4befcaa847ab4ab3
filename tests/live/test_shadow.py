"""Shadows: policies that decide along in worlds of their own, from the records of a platform that really ran."""

from __future__ import annotations

from pathlib import Path
from threading import Event as Flag

import numpy as np
import pytest
from tests.live.conftest import Lived, played
from tests.live.lockstep import Live, some_jobs, without_deadlines
from tests.live.platform import Platform
from tests.server.serving import a_server

from tenuto.forecast.shadow import KEY, WINDOW, Shown
from tenuto.live.shadow import Pace, Shadows, Stopped
from tenuto.model.event import Event
from tenuto.model.phase import Phase
from tenuto.settings import Scheduling
from tenuto.store.base import Store


def let_decide(store: Store, now: float, *policies: str) -> dict[str, Shown]:
    """Let policies decide along once, up to now."""
    wanted = [{"policy": policy} for policy in policies]
    store.write(lambda tx: tx.set_meta(KEY, wanted))
    shadows = Shadows(store, lambda: now, Scheduling())
    shadows.look(Pace(Flag(), share=1.0))
    return {one.shadow.policy: one for one in shadows.shown}


def test_a_shadow_of_the_policy_in_force_does_what_that_really_did(lived: Lived) -> None:
    shown = let_decide(lived.served.store, lived.served.clock.now, "elasticflow")["elasticflow"]

    assert_same(shown, lived.live)
    assert shown.world is not None and shown.world.refused.any()


@pytest.mark.parametrize("policy", ["themis", "gandiva"])
def test_that_is_so_whatever_the_policy(policy: str, tmp_path: Path) -> None:
    with a_server(tmp_path) as served:
        live = played(served, without_deadlines(some_jobs(8, seed=6), every=3), policy)

        assert_same(let_decide(served.store, served.clock.now, policy)[policy], live)


def assert_same(shown: Shown, live: Live) -> None:
    records = live.records()
    assert shown.problem == ""
    assert shown.past is not None and shown.world is not None
    assert [job.id for job in shown.past.jobs] == live.ids
    assert shown.world.refused.tolist() == [job.phase is Phase.DECLINED for job in records]
    ends = [np.nan if job.phase is Phase.DECLINED else job.ended_at for job in records]
    np.testing.assert_array_equal(shown.world.finished, np.array(ends, dtype=np.float64))


def test_another_policy_decides_about_the_same_jobs_in_its_own_way(lived: Lived) -> None:
    before = lived.served.everything()

    shown = let_decide(lived.served.store, lived.served.clock.now, "fifo", "edf")

    assert all(one.problem == "" for one in shown.values())
    fifo = shown["fifo"].world
    assert fifo is not None and not fifo.refused.any()
    assert lived.served.everything()[:5] == before[:5]


def four_slots() -> Platform:
    return Platform({"node-0": 4}, start=1000.0)


class TestWhatHappensFromOutside:
    def test_a_job_that_was_cancelled_leaves_the_other_world_at_the_same_moment(self) -> None:
        platform = four_slots()
        first, second = (
            platform.submit("pierwszy", steps=400.0, min_workers=4),
            platform.submit("drugi", steps=400.0, min_workers=4),
        )
        platform.clock.now += 50.0
        self._cancel(platform, first)
        platform.clock.now += 100.0
        platform.exit(second)

        shown = let_decide(platform.store, platform.clock.now, "fifo")["fifo"]

        assert shown.world is not None
        assert np.isnan(shown.world.finished[0])
        assert shown.world.started.tolist() == [1000.0, 1050.0]
        assert shown.world.finished[1] == 1150.0

    def test_a_paused_job_asks_anew_when_it_is_resumed(self) -> None:
        platform = four_slots()
        job = platform.submit("pauza", steps=400.0, min_workers=4, deadline=1000.0)
        platform.clock.now += 50.0
        self._wish(platform, job, "pause", pause=True)
        platform.clock.now += 50.0
        self._wish(platform, job, "resume", pause=False)
        platform.clock.now += 50.0
        platform.exit(job)

        shown = let_decide(platform.store, platform.clock.now, "elasticflow")["elasticflow"]

        assert shown.world is not None
        assert (shown.world.finished[0], shown.world.promised[0]) == (1150.0, 2000.0)

    def test_slots_of_a_lost_node_are_lost_in_the_other_world_too(self) -> None:
        platform = four_slots()
        job = platform.submit("utrata", steps=400.0, min_workers=4)
        platform.clock.now += 50.0
        platform.engine.lose_node("node-0")
        platform.pass_time(20.0)
        assert platform.phase(job) is Phase.QUEUED

        shown = let_decide(platform.store, platform.clock.now, "fifo")["fifo"]

        assert shown.world is not None
        assert (int(shown.world.held[0]), shown.world.usage.usable[-1]) == (0, 0)

    def test_a_job_that_failed_fails_there_after_as_many_steps(self) -> None:
        platform = four_slots()
        job = platform.submit("błąd", steps=400.0, min_workers=4)
        platform.clock.now += 30.0
        platform.exit(job, code=1)
        platform.clock.now += 300.0

        shown = let_decide(platform.store, platform.clock.now, "edf")["edf"]

        assert shown.world is not None
        assert shown.world.finished[0] == 1030.0

    @staticmethod
    def _cancel(platform: Platform, job: str) -> None:
        TestWhatHappensFromOutside._wish(platform, job, "cancel", cancel=True)

    @staticmethod
    def _wish(platform: Platform, job: str, verb: str, **fields: bool) -> None:
        event = Event(kind="wish", at=platform.clock.now, actor="zofia", job=job, after=verb)
        platform.store.write(lambda tx: tx.add_event(event))
        platform.wish(job, **fields)


def test_what_is_new_is_seen_the_next_time_and_what_was_deleted_is_forgotten() -> None:
    platform = four_slots()
    first = platform.submit("první")
    platform.store.write(lambda tx: tx.set_meta(KEY, [{"policy": "fifo"}]))
    shadows = Shadows(platform.store, platform.clock, Scheduling())
    seen = []
    for act in (lambda: None, lambda: platform.submit("druhý"), lambda: _forget(platform, first)):
        act()
        shadows.look(Pace(Flag(), share=1.0))
        [shown] = shadows.shown
        assert shown.past is not None
        seen.append([job.name for job in shown.past.jobs])

    assert seen == [["první"], ["první", "druhý"], ["druhý"]]


def _forget(platform: Platform, job: str) -> None:
    platform.store.write(lambda tx: tx.remove_job(job))


def test_a_week_later_nothing_is_left_of_what_had_ended() -> None:
    platform = four_slots()
    platform.exit(platform.submit("dávno"))

    found = {
        seconds: let_decide(platform.store, platform.clock.now + seconds, "fifo")["fifo"].past
        for seconds in (WINDOW - 1.0, WINDOW + 1.0)
    }

    assert [past is not None and len(past.jobs) for past in found.values()] == [1, 0]


class TestTrouble:
    def test_a_policy_that_cannot_be_found_is_told_and_harms_no_other(self) -> None:
        platform = four_slots()
        platform.submit("zwykły")

        shown = let_decide(platform.store, platform.clock.now, "нет-такой", "fifo")

        assert "there is no policy" in shown["нет-такой"].problem
        assert shown["fifo"].world is not None

    def test_a_thread_that_shall_stop_gives_up_what_is_under_way(self) -> None:
        stop = Flag()
        stop.set()
        pace = Pace(stop, share=0.5)

        with pytest.raises(Stopped):
            for _ in range(10_000_000):
                pace.breathe()
