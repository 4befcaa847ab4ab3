"""Jobs that hold GPUs and do not use them: told, shrunk if that is wished, and left alone when they work again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.live.platform import Platform

from tenuto.live.controller import Controller
from tenuto.model.job import Pin
from tenuto.model.node import Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.monitor.usage import GpuUses
from tenuto.settings import Idle
from tenuto.wire.sample import GpuSample, NodeSample

NODE = "노드-0"
AFTER = 100.0


class Watched(Platform):
    """A node with GPUs of which samples come every ten seconds."""

    def __init__(self, gpus: int = 2, *, device: bool = True, idle: Idle | None = None, **more: Any) -> None:
        self.uses = GpuUses(below=5.0, period=1.0)
        self.gpus = gpus
        self.ahead = 0.0
        super().__init__({}, **more)
        self.settings = replace(self.settings, idle=idle or Idle(after=AFTER))
        self.engine.add_node(NODE, [Slot(device=str(n) if device else "") for n in range(gpus)])
        self.new_controller()
        self.settle()

    def new_controller(self) -> Controller:
        self.controller = Controller(
            self.store, self.engine, self.clock, self.settings, force=True, uses=self.uses
        )
        return self.controller

    def watch(self, seconds: float, *used: float | None) -> None:
        """Let time pass in which the GPUs are used so much."""
        each = used or (0.0,) * self.gpus
        until = self.clock.now + seconds
        while self.clock.now < until:
            self.clock.now = min(self.clock.now + 10.0, until)
            gpus = tuple(GpuSample(index=n, utilisation=part) for n, part in enumerate(each))
            self.uses.take(NODE, [NodeSample(at=self.clock.now + self.ahead, gpus=gpus)])
            self.settle()

    def told(self, job: str) -> list[str]:
        return [event.kind for event in self.events(job=job) if event.kind in ("idle", "busy")]


def endless(here: Platform, name: str = "노트북", **more: Any) -> str:
    return here.submit(name, steps=None, curve={}, max_workers=2, **more)


def test_a_job_that_does_not_use_its_gpus_is_told_once() -> None:
    here = Watched()
    job = endless(here)
    here.watch(AFTER)
    assert here.told(job) == []

    here.watch(3 * AFTER)

    assert here.told(job) == ["idle"]
    assert here.job(job).idle_since == pytest.approx(1010.0)
    [event] = here.events(job=job, kind="idle")
    assert event.reason == (
        "has not used any of its 2 GPUs since 1970-01-01T00:16:50.000Z: below 5 % all the time"
    )
    assert here.job(job).workers == 2


def test_one_gpu_in_use_is_use_enough() -> None:
    here = Watched()
    job = endless(here)

    here.watch(5 * AFTER, 0.0, 60.0)

    assert here.told(job) == []


@pytest.mark.parametrize("used", [(None, None), (0.0, None), ()])
def test_what_nobody_can_tell_is_never_idle(used: tuple[float | None, ...]) -> None:
    here = Watched()
    job = endless(here)
    if not used:
        here.uses.forget(NODE)
        here.pass_time(5 * AFTER)
    else:
        here.watch(5 * AFTER, *used)

    assert here.told(job) == []


def test_shares_of_processors_are_no_gpus() -> None:
    here = Watched(device=False)
    job = endless(here)

    here.watch(5 * AFTER)

    assert here.told(job) == []


def test_samples_that_stop_prove_nothing_about_the_time_after_them() -> None:
    here = Watched()
    job = endless(here)
    here.watch(AFTER / 2)

    here.pass_time(5 * AFTER)
    assert here.told(job) == []
    here.watch(AFTER)

    assert here.told(job) == []  # nobody knows what was in the gap: it counts anew
    here.watch(2 * AFTER)
    assert here.told(job) == ["idle"]


def test_the_time_before_the_workers_had_started_does_not_count() -> None:
    here = Watched()
    here.watch(2 * AFTER)

    job = endless(here)
    here.watch(AFTER / 2)

    assert here.told(job) == []


def test_a_node_whose_clock_is_ahead_makes_nobody_idle_early() -> None:
    here = Watched()
    here.ahead = 5 * AFTER
    here.watch(2 * AFTER)

    job = endless(here)
    here.watch(AFTER / 2)

    assert here.told(job) == []


def test_a_job_that_works_again_is_busy_and_may_be_idle_again() -> None:
    here = Watched()
    job = endless(here)
    here.watch(2 * AFTER)

    here.watch(20.0, 0.0, 80.0)
    assert here.told(job) == ["idle", "busy"]
    assert here.job(job).idle_since is None
    here.watch(2 * AFTER)

    assert here.told(job) == ["idle", "busy", "idle"]


def test_a_job_that_wants_no_attention_gets_none() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here, idle="ignore")

    here.watch(5 * AFTER)

    assert (here.told(job), here.job(job).workers) == ([], 2)


def test_nothing_is_looked_for_if_nobody_wants_it() -> None:
    here = Watched(idle=Idle(after=0.0))
    job = endless(here)

    here.watch(5 * AFTER)

    assert here.told(job) == []


def test_an_idle_job_is_shrunk_if_that_is_wished_and_grows_again_when_it_works() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here, "빈둥")
    here.watch(2 * AFTER)

    assert (here.job(job).workers, here.job(job).shrunk) == (1, True)
    scaled = here.events(job=job, kind="scaled")[-1]
    assert (scaled.actor, scaled.reason) == (
        "controller",
        "shrunk to its least size, since it does not use its GPUs",
    )
    here.watch(2 * AFTER)
    assert (here.told(job), here.job(job).workers) == (["idle"], 1)

    here.watch(AFTER, 70.0, 70.0)

    assert (here.told(job), here.job(job).workers) == (["idle", "busy"], 2)
    assert not here.job(job).shrunk


@pytest.mark.parametrize("policy", ["edf", "fifo", "gandiva", "tiresias", "themis", "pollux"])
def test_every_policy_heeds_it(policy: str) -> None:
    here = Watched(policy=policy, idle=Idle(after=AFTER, shrink=True))
    job = endless(here)
    assert here.job(job).workers == 2

    here.watch(2 * AFTER)
    assert (here.phase(job), here.job(job).workers) == (Phase.RUNNING, 1)
    here.watch(2 * AFTER, 70.0, 70.0)

    assert (here.told(job), here.job(job).shrunk) == (["idle", "busy"], False)
    assert here.phase(job) is Phase.RUNNING


def test_a_worker_that_stays_goes_on_if_its_job_rescales_in_place() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here, strategy="allreduce")
    before = here.workers(job)

    here.watch(2 * AFTER)

    assert len(here.workers(job)) == 1
    assert set(here.workers(job)) < set(before)


def test_the_slots_of_a_shrunk_job_go_to_those_who_wait() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    lazy = endless(here, "빈둥")
    waiting = here.submit("일꾼", min_workers=1, max_workers=1, curve={1: 1.0}, steps=1e6)
    here.watch(3 * AFTER)

    assert here.phase(waiting) is Phase.RUNNING
    assert here.job(lazy).workers == 1


def test_loading_what_was_saved_after_the_shrink_is_no_work() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here)
    while not here.job(job).shrunk:
        here.watch(10.0)

    here.watch(30.0, 90.0, 90.0)
    here.watch(2 * AFTER)

    assert (here.told(job), here.job(job).workers) == (["idle"], 1)


def test_its_owner_lifts_it_and_it_stays_lifted() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here)
    here.watch(2 * AFTER)

    here.wish(job, pin=None, shrunk=False)
    here.watch(3 * AFTER)

    assert (here.told(job), here.job(job).workers) == (["idle"], 2)


@pytest.mark.parametrize(
    ("more", "pin"),
    [({}, Pin(workers=2)), ({"idle": "tell"}, None), ({"min_workers": 2}, None)],
)
def test_who_is_pinned_or_wants_to_be_told_only_keeps_its_size(more: dict[str, Any], pin: Pin | None) -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here, **more)
    here.wish(job, pin=pin)

    here.watch(3 * AFTER)

    assert (here.told(job), here.job(job).workers, here.job(job).shrunk) == (["idle"], 2, False)


def test_a_job_may_ask_to_be_shrunk_where_others_are_not() -> None:
    here = Watched()
    job = endless(here, idle="shrink")

    here.watch(2 * AFTER)

    assert here.job(job).workers == 1


def test_a_promise_is_worth_more_than_idle_slots() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = here.submit("약속", steps=1000.0, curve={1: 1.0, 2: 2.0}, max_workers=2, deadline=900.0)

    here.watch(3 * AFTER)

    found = here.job(job)
    assert (found.promise, found.workers, found.shrunk) == (PromiseState.HOLDS, 2, False)
    assert here.told(job) == ["idle"]


def test_the_next_controller_knows_who_is_idle_and_goes_on_from_there() -> None:
    here = Watched(idle=Idle(after=AFTER, shrink=True))
    job = endless(here)
    here.watch(2 * AFTER)
    here.uses = GpuUses(below=5.0, period=1.0)

    here.new_controller()
    here.watch(3 * AFTER)

    assert (here.told(job), here.job(job).workers) == (["idle"], 1)
    here.watch(20.0, 50.0, 50.0)
    assert (here.told(job), here.job(job).workers) == (["idle", "busy"], 2)


def test_who_has_no_slots_any_more_is_idle_no_more() -> None:
    here = Watched()
    job = endless(here)
    here.watch(2 * AFTER)

    here.wish(job, pause=True)

    assert (here.phase(job), here.job(job).idle_since) == (Phase.PAUSED, None)
    assert here.told(job) == ["idle"]


def test_nothing_is_written_while_nothing_changes() -> None:
    here = Watched()
    job = endless(here)
    here.watch(2 * AFTER)
    record = here.job(job)

    here.watch(2 * AFTER)

    assert here.job(job) == record


def test_a_node_that_was_removed_is_forgotten() -> None:
    here = Watched()
    here.watch(20.0)
    here.engine.lose_node(NODE)
    here.pass_time(60.0)

    here.store.write(lambda tx: tx.remove_node(NODE))
    here.settle()

    assert here.uses.of(NODE, "0") is None
