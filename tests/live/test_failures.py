"""Workers that fail, vanish or run out of memory: counted, retried within limits, never forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.live.platform import Platform

from tenuto.engines.base import Observation
from tenuto.model.job import Retry
from tenuto.model.phase import Phase

P = Phase


def test_a_worker_that_fails_fails_the_job_with_its_exit_code() -> None:
    here = Platform()
    job = here.submit()
    here.engine.exit_worker(here.workers(job)[2], 7)
    here.settle()

    failed = here.job(job)
    assert (failed.phase, failed.exit_code, failed.failures) == (P.FAILED, 7, 1)
    assert failed.message == "worker 2 on node-0 ended with exit code 7"
    assert here.workers(job) == [], "the others are stopped"
    assert {attempt.exit_code for attempt in here.attempts(job)} >= {7}


def test_a_failure_on_a_node_whose_clock_is_fast_is_noticed_at_once() -> None:
    here = Platform()
    job = here.submit()
    here.engine.exit_worker(here.workers(job)[0], 7)
    observe = here.engine.observe

    def an_hour_fast() -> Observation:
        seen = observe()
        workers = {
            one.id: replace(one, ended_at=None if one.ended_at is None else one.ended_at + 3600.0)
            for one in seen.workers.values()
        }
        nodes = {name: replace(node, heard_at=node.heard_at - 0.5) for name, node in seen.nodes.items()}
        return replace(seen, nodes=nodes, workers=workers)

    here.engine.observe = an_hour_fast  # type: ignore[method-assign]
    here.settle()

    assert (here.phase(job), here.job(job).exit_code) == (P.FAILED, 7)


def test_a_job_with_retries_starts_again_in_its_place_after_a_growing_pause() -> None:
    here = Platform()
    job = here.submit(retry=Retry(failures=2))
    slots = here.job(job).slots

    here.exit(job, 1)
    again = here.job(job)
    assert (again.phase, again.generation, again.failures, again.slots) == (P.STARTING, 2, 1, slots)
    assert here.workers(job) == []
    here.pass_time(0.9)
    assert here.workers(job) == []
    here.pass_time(0.1)
    assert here.phase(job) is P.RUNNING

    here.exit(job, 1)
    here.pass_time(1.9)
    assert here.phase(job) is P.STARTING
    here.pass_time(0.1)
    assert here.phase(job) is P.RUNNING
    here.exit(job, 1)

    assert (here.phase(job), here.job(job).failures) == (P.FAILED, 3)
    assert sorted({worker.generation for worker in here.engine.started}) == [1, 2, 3]


def test_the_controller_knows_when_a_failed_job_is_due_again() -> None:
    here = Platform()
    job = here.submit(retry=Retry(failures=1))
    here.exit(job, 1)

    assert here.controller.next_look(here.clock.now) == here.job(job).not_before == here.clock.now + 1.0


def test_a_vanished_worker_is_a_loss_and_no_failure() -> None:
    here = Platform()
    job = here.submit(retry=Retry(losses=1))
    here.engine.vanish(here.workers(job)[0])
    here.settle()

    again = here.job(job)
    assert (again.phase, again.losses, again.failures, again.generation) == (P.RUNNING, 1, 0, 2)
    assert here.walk(job)[-3:] == ["queued", "starting", "running"]
    here.engine.vanish(here.workers(job)[0])
    here.settle()

    assert (here.phase(job), here.job(job).losses) == (P.LOST, 2)
    assert here.workers(job) == []


def test_a_worker_over_its_memory_fails_the_job_with_the_reason() -> None:
    here = Platform()
    job = here.submit()
    here.engine.run_out_of_memory(here.workers(job)[0])
    here.settle()

    assert (here.phase(job), here.job(job).why) == (P.FAILED, "out_of_memory")
    assert "used more memory than its limit" in here.job(job).message


def test_a_worker_that_is_done_does_not_end_the_others() -> None:
    here = Platform()
    job = here.submit()
    first, *others = here.workers(job)
    here.engine.exit_worker(first)
    here.settle()
    assert (here.phase(job), here.workers(job)) == (P.RUNNING, others)

    for worker in others:
        here.engine.exit_worker(worker)
    here.settle()

    assert here.phase(job) is P.SUCCEEDED


def test_a_failed_job_keeps_its_slots_while_it_waits_so_that_nobody_is_promised_them() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=110.0, retry=Retry(failures=1))
    here.exit(job, 1)
    other = here.submit("inny", steps=400.0, deadline=110.0)

    assert (here.phase(job), here.phase(other)) == (P.STARTING, P.DECLINED)
    assert here.job(job).workers == 4


def test_every_start_is_noted_with_its_end() -> None:
    here = Platform()
    job = here.submit(max_workers=1, retry=Retry(failures=1))
    here.pass_time(5.0)
    here.exit(job, 9)
    here.pass_time(1.0)
    here.exit(job)

    first, second = here.attempts(job)
    assert (first.generation, first.started_at, first.ended_at, first.exit_code) == (1, 1000.0, 1005.0, 9)
    assert (second.generation, second.started_at, second.ended_at, second.exit_code) == (2, 1006.0, 1006.0, 0)


def test_a_failure_beside_a_silent_node_is_not_judged_before_that_node_is_heard_of() -> None:
    here = Platform({"node-0": 2, "node-1": 2})
    job = here.submit(min_workers=4)
    here.engine.lose_node("node-1")
    here.clock.now += 1.0
    here.engine.exit_worker(next(worker for worker in here.workers(job) if worker.rank == 0), 1)
    here.settle()
    assert here.phase(job) is P.RUNNING

    here.pass_time(15.0)

    lost = here.job(job)
    assert (lost.failures, lost.losses, lost.phase) == (0, 1, P.QUEUED)


def test_a_failure_is_judged_when_the_silent_node_speaks_again() -> None:
    here = Platform({"node-0": 2, "node-1": 2})
    job = here.submit(min_workers=4)
    here.engine.lose_node("node-1")
    here.clock.now += 1.0
    here.engine.exit_worker(next(worker for worker in here.workers(job) if worker.rank == 0), 1)
    here.settle()
    here.clock.now += 1.0
    here.engine.return_node("node-1")
    here.settle()

    assert (here.phase(job), here.job(job).failures) == (P.FAILED, 1)


@pytest.mark.parametrize("steps", [60.0, 10.0])
def test_reported_steps_are_believed_more_than_the_curve(steps: float) -> None:
    here = Platform()
    job = here.submit(steps=100.0)
    here.clock.now += 10.0
    here.engine.report(here.workers(job)[0], steps)
    here.settle()

    progress = here.job(job).progress
    assert (progress.left, progress.as_of, progress.step) == (100.0 - steps, 1010.0, steps)


def test_reports_are_written_now_and_then_only() -> None:
    here = Platform()
    job = here.submit(steps=1000.0)
    revisions = set()
    for step in range(1, 21):
        here.clock.now += 0.5
        here.engine.report(here.workers(job)[0], float(step))
        here.settle()
        revisions.add(here.job(job).revision)

    assert 2 <= len(revisions) <= 4
