"""The controller's copy of the store: only what is new is read, and steps are counted as in the simulator."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random
from typing import Any

import numpy as np
from tests.builders import a_job, a_workload, a_world
from tests.live.platform import Platform

from tenuto.live.mirror import Meter, Mirror
from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.phase import Phase
from tenuto.settings import Scheduling
from tenuto.store.base import Attempt

P = Phase


def a_record(progress: Progress) -> Job:
    return Job(
        id="작업",
        number=1,
        revision=1,
        spec=JobSpec(name="작업", run=("x",)),
        owner="",
        submitted_at=0.0,
        progress=progress,
    )


def test_steps_are_counted_as_in_the_simulated_world_to_the_last_bit() -> None:
    lot = Random(1)
    world = a_world(a_workload(jobs=[a_job(left=1e6, curve={1: 0.1, 2: 0.3})]))
    world.advance_to(0.0)
    world.speed[0], world.ready_at[0] = 0.3, 7.3
    job, meter, now = a_record(Progress(left=1e6, as_of=0.0, speed=0.3, ready_at=7.3)), Meter(), 0.0
    for _ in range(1000):
        now += lot.random()
        world.advance_to(now)
        left = meter.advance([job], now)["작업"]

        assert left == float(world.left[0])


def test_a_new_anchor_counts_from_its_own_moment() -> None:
    meter = Meter()
    meter.advance([a_record(Progress(left=100.0, as_of=0.0, speed=1.0, ready_at=0.0))], 10.0)
    told = a_record(Progress(left=50.0, as_of=12.0, speed=2.0, ready_at=13.0))

    assert meter.advance([told], 15.0) == {"작업": 46.0}
    assert meter.advance([replace(told, urgent=True)], 16.0) == {"작업": 44.0}, "a wish is no new anchor"


def test_who_holds_nothing_makes_no_progress() -> None:
    waiting = a_record(Progress(left=5.0, as_of=0.0))

    assert Meter().advance([waiting], np.inf) == {"작업": 5.0}


def test_only_what_is_new_is_read() -> None:
    here = Platform()
    jobs = [here.submit(f"작업 {k}", max_workers=1) for k in range(3)]
    mirror, asked = Mirror(Scheduling()), []

    class Watched:
        """A transaction that tells what it is asked for."""

        def __init__(self, tx: Any) -> None:
            self.tx = tx

        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(self.tx, name)

    records = here.store.read(lambda tx: mirror.refresh(Watched(tx)))
    assert list(records.jobs) == jobs
    here.exit(jobs[0])
    here.wish(jobs[1], urgent=True)
    asked.clear()

    records = here.store.read(lambda tx: mirror.refresh(Watched(tx)))

    assert list(records.jobs) == jobs[1:]
    assert records.jobs[jobs[1]].urgent
    assert "live_jobs" not in asked and "attempts" not in asked
    here.store.write(lambda tx: tx.remove_job(jobs[2]))
    assert list(here.store.read(mirror.refresh).jobs) == [jobs[1]]


def test_attempts_are_kept_while_they_matter() -> None:
    here = Platform()
    job = here.submit(max_workers=1)
    mirror = Mirror(Scheduling())
    (attempt,) = here.store.read(mirror.refresh).attempts[job]
    mirror.learn_attempts([replace(attempt, ended_at=5.0, exit_code=0)])
    later = Attempt(job=job, generation=3, role="worker", rank=0, node="node-0", slot=0)
    mirror.learn_attempts([later])
    record = replace(here.job(job), generation=3)
    here.store.write(lambda tx: tx.put_job(record))

    assert list(here.store.read(mirror.refresh).attempts[job]) == [later]


def test_settings_of_another_version_are_left_out() -> None:
    here = Platform()
    here.store.write(
        lambda tx: tx.set_meta(
            "scheduling", {"policy": "fifo", "placement": "pack", "of_tomorrow": 1, "settings": {"lease": 5}}
        )
    )
    records = here.store.read(Mirror(Scheduling(interval=7.0)).refresh)

    assert (records.scheduling.policy, records.scheduling.placement) == ("fifo", "pack")
    assert records.scheduling.interval == 7.0
    assert records.tuning == {"lease": 5}
    assert Progress(left=0.0, as_of=0.0).ready_at == -inf
