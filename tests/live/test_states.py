"""Every state of a job can be reached, and every way is one of the table's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.live.platform import Platform

from tenuto.live.change import Change, NoSuchStep
from tenuto.model.job import Condition, Pin, Reply, Retry, Role, StartOrder
from tenuto.model.phase import NEXT, Phase, PromiseState

P = Phase


def test_a_job_starts_runs_and_succeeds() -> None:
    here = Platform()
    here.engine.hold_starts()
    job = here.submit(deadline=500.0)
    assert here.phase(job) is P.STARTING

    here.engine.release_starts()
    here.settle()
    assert here.phase(job) is P.RUNNING
    here.pass_time(25.0)
    here.exit(job)

    done = here.job(job)
    assert (done.phase, done.exit_code, done.ended_at) == (P.SUCCEEDED, 0, 1025.0)
    assert (dict(done.slots), done.progress.left, done.promise) == ({}, 0.0, PromiseState.KEPT)
    assert here.walk(job) == ["submitted", "starting", "running", "succeeded"]


def test_a_job_without_room_is_queued_until_another_ends() -> None:
    here = Platform(policy="fifo")
    first = here.submit(min_workers=4)
    second = here.submit("drugie", min_workers=4)
    assert here.phase(second) is P.QUEUED

    here.exit(first)

    assert here.walk(second) == ["submitted", "queued", "starting", "running"]


def test_a_deadline_that_cannot_be_kept_is_declined_with_offers() -> None:
    here = Platform()
    in_the_way = here.submit(steps=400.0, deadline=110.0)

    job = here.submit(steps=400.0, deadline=110.0)

    answer = here.job(job).contract
    assert answer is not None
    assert (here.phase(job), answer.reply, here.job(job).ended_at) == (P.DECLINED, Reply.DECLINED, 1000.0)
    assert answer.offers.earliest == 1201.0
    assert answer.offers.in_the_way == (in_the_way,)
    assert "the earliest deadline that can be promised now is 1970-01-01T00:20:01Z" in answer.message
    assert here.phase(in_the_way) is P.RUNNING


def test_a_job_larger_than_the_cluster_is_unschedulable_until_nodes_join() -> None:
    here = Platform()
    job = here.submit(min_workers=8, max_workers=8, curve={8: 8.0})
    answer = here.job(job).contract
    assert answer is not None
    assert (here.phase(job), answer.reply) == (P.UNSCHEDULABLE, Reply.UNSCHEDULABLE)
    assert "needs 8 slots, the cluster has 4" in answer.message

    here.engine.add_node("węzeł-1", 4)
    here.settle()

    assert here.walk(job) == ["submitted", "unschedulable", "submitted", "starting", "running"]


def test_an_unschedulable_job_is_asked_again_when_its_owner_changes_it() -> None:
    here = Platform()
    job = here.submit(min_workers=1, max_workers=8, curve={8: 8.0})
    assert here.phase(job) is P.UNSCHEDULABLE

    here.wish(job, pin=Pin(workers=2))

    assert here.job(job).workers == 2


def test_a_job_is_paused_and_resumed_with_a_new_verdict() -> None:
    here = Platform()
    here.engine.slow_stopping(float("inf"))
    job = here.submit(deadline=500.0)
    here.wish(job, pause=True)
    stopping = here.job(job)
    assert (stopping.phase, dict(stopping.slots), stopping.promise) == (P.RUNNING, {}, PromiseState.WITHDRAWN)

    here.engine.finish_stopping()
    here.settle()
    assert here.phase(job) is P.PAUSED
    here.wish(job, pause=False)

    again = here.job(job)
    assert (again.phase, again.generation, again.promise) == (P.RUNNING, 2, PromiseState.HOLDS)
    assert here.walk(job) == [
        "submitted",
        "starting",
        "running",
        "paused",
        "submitted",
        "starting",
        "running",
    ]


def test_a_job_that_cannot_go_on_in_time_goes_back_to_its_pause_with_the_reason() -> None:
    here = Platform()
    job = here.submit(steps=400.0, deadline=110.0)
    here.wish(job, pause=True)
    here.pass_time(50.0)

    here.wish(job, pause=False)

    paused = here.job(job)
    assert (paused.phase, paused.pause, paused.why) == (P.PAUSED, True, "deadline_infeasible")
    assert "cannot go on now: declined: 1970-01-01T00:18:30Z cannot be promised" in paused.message
    here.settle()
    assert here.walk(job)[-2:] == ["submitted", "paused"]


def test_a_job_that_is_resumed_while_it_still_stops_waits_for_its_old_workers() -> None:
    here = Platform()
    here.engine.slow_stopping(float("inf"))
    job = here.submit()
    here.wish(job, pause=True)
    here.wish(job, pause=False)
    assert here.job(job).ending is not None

    here.engine.finish_stopping()
    here.settle()

    assert (here.phase(job), here.job(job).generation) == (P.RUNNING, 2)


@pytest.mark.parametrize("moment", ["queued", "running", "paused", "held", "unschedulable"])
def test_a_job_can_be_cancelled_at_any_moment(moment: str) -> None:
    here = Platform(policy="fifo")
    first = here.submit(min_workers=4, deadline=50.0)
    if moment == "paused":
        here.wish(first, pause=True)
    job = {
        "queued": lambda: here.submit(min_workers=4),
        "running": lambda: first,
        "paused": lambda: first,
        "held": lambda: here.submit(after=first),
        "unschedulable": lambda: here.submit(min_workers=9, max_workers=9, curve={9: 1.0}),
    }[moment]()
    assert here.phase(job).value == moment

    here.wish(job, cancel=True)

    ended = here.job(job)
    assert (ended.phase, ended.message, dict(ended.slots)) == (P.CANCELLED, "cancelled by zofia", {})
    assert not here.workers(job)


def test_a_cancelled_job_ends_when_its_workers_are_gone_for_certain_and_its_slots_are_free_at_once() -> None:
    here = Platform()
    here.engine.slow_stopping(float("inf"))
    job = here.submit()
    here.wish(job, cancel=True)
    other = here.submit("inny", max_workers=2)
    assert (here.phase(job), here.job(other).workers) == (P.RUNNING, 2)
    assert not here.workers(other), "the slots are not empty yet"

    here.engine.finish_stopping()
    here.settle()

    assert (here.phase(job), here.phase(other)) == (P.CANCELLED, P.RUNNING)


@pytest.mark.parametrize(
    ("condition", "code", "phase"),
    [
        (Condition.OK, 0, P.RUNNING),
        (Condition.OK, 1, P.FAILED),
        (Condition.ANY, 0, P.RUNNING),
        (Condition.ANY, 1, P.RUNNING),
        (Condition.FAIL, 0, P.FAILED),
        (Condition.FAIL, 1, P.RUNNING),
    ],
)
def test_a_job_begins_after_the_right_end_of_another(condition: Condition, code: int, phase: Phase) -> None:
    here = Platform()
    first = here.submit()
    job = here.submit(after=first, condition=condition)
    assert here.phase(job) is P.HELD

    here.exit(first, code)

    assert here.phase(job) is phase
    if phase is P.FAILED:
        assert here.job(job).why == "dependency"
        assert first in here.job(job).message


def test_a_job_whose_predecessor_is_deleted_fails_instead_of_waiting_for_ever() -> None:
    here = Platform(policy="fifo")
    first = here.submit(min_workers=4)
    waiting = here.submit(min_workers=4)
    job = here.submit(after=waiting)
    here.wish(waiting, pause=True)
    here.store.write(lambda tx: tx.remove_job(waiting))
    here.settle()

    assert (here.phase(job), here.job(job).why) == (P.FAILED, "dependency")
    assert here.phase(first) is P.RUNNING


def test_a_paused_job_goes_back_to_waiting_for_its_predecessor() -> None:
    here = Platform()
    first = here.submit()
    job = here.submit(after=first)
    here.wish(job, pause=True)
    here.wish(job, pause=False)

    assert here.walk(job) == ["submitted", "held", "paused", "submitted", "held"]


def test_a_job_is_rescaled_by_exchanging_its_workers() -> None:
    here = Platform(policy="elasticflow")
    here.engine.slow_stopping(float("inf"))
    job = here.submit(steps=1000.0)
    assert here.job(job).workers == 4
    other = here.submit("drugie", steps=100.0)
    assert (here.phase(job), here.job(job).generation) == (P.RESCALING, 2)
    assert {worker.generation for worker in here.workers(job)} == {1}

    here.engine.finish_stopping()
    here.settle()

    assert (here.phase(job), here.phase(other)) == (P.RUNNING, P.RUNNING)
    assert {worker.generation for worker in here.workers(job)} == {2}
    assert len(here.workers(job)) + len(here.workers(other)) == 4
    told = [event.after for event in here.events(job=job) if event.kind == "scaled"]
    assert told[0] == "node-0:4"


def test_side_roles_end_with_the_workers() -> None:
    here = Platform()
    job = here.submit(roles={"ps": Role(count=2)})
    assert len(here.workers(job)) == 6
    here.engine.slow_stopping(float("inf"))
    for worker in here.workers(job):
        if worker.role == "worker":
            here.engine.exit_worker(worker)
    here.settle()
    assert here.phase(job) is P.RUNNING

    here.engine.finish_stopping()
    here.settle()

    assert (here.phase(job), here.workers(job)) == (P.SUCCEEDED, [])


def test_a_failing_side_role_fails_the_job() -> None:
    here = Platform()
    job = here.submit(roles={"ps": Role()})
    here.engine.exit_worker(next(worker for worker in here.workers(job) if worker.role == "ps"), 3)
    here.settle()

    assert (here.phase(job), here.job(job).exit_code) == (P.FAILED, 3)


def test_a_job_that_runs_longer_than_it_may_is_stopped_and_failed() -> None:
    here = Platform()
    job = here.submit(max_duration=60.0, retry=Retry(failures=1))
    here.pass_time(30.0)
    here.exit(job, 1)
    here.pass_time(29.0)
    assert here.phase(job) is P.RUNNING

    here.pass_time(1.0)

    assert (here.phase(job), here.job(job).why) == (P.FAILED, "max_duration")
    assert here.workers(job) == []


def test_a_job_without_a_total_runs_until_it_ends() -> None:
    here = Platform()
    job = here.submit(steps=None, curve={})
    here.pass_time(1e6)
    assert here.phase(job) is P.RUNNING
    here.exit(job)
    assert here.phase(job) is P.SUCCEEDED


def test_a_job_that_should_be_done_by_its_curve_is_not_stopped_for_being_late() -> None:
    here = Platform()
    job = here.submit(steps=100.0, deadline=200.0)
    here.pass_time(150.0)
    here.submit("inny", deadline=1000.0)
    assert here.phase(job) is P.RUNNING

    here.pass_time(100.0)

    late = here.job(job)
    assert (late.phase, late.promise, late.breach) == (
        P.RUNNING,
        PromiseState.BROKEN,
        "slower than its curve",
    )


def test_workers_start_one_after_the_other_if_asked() -> None:
    here = Platform()
    job = here.submit(start=StartOrder.ORDERED)

    assert [worker.rank for worker in here.engine.started if worker.job == job] == [0, 1, 2, 3]
    assert here.phase(job) is P.RUNNING
    here.engine.hold_starts()
    other = here.submit("inny", start=StartOrder.ORDERED)
    here.exit(job)
    waiting = [worker.id.rank for worker in here.engine.observe().workers.values() if worker.id.job == other]
    assert waiting == [0], "rank 1 is not even wanted before rank 0 runs"


@pytest.mark.parametrize("phase", Phase)
def test_no_job_goes_where_the_table_does_not_lead(phase: Phase) -> None:
    here = Platform(nodes={})
    job = here.job(here.submit(settle=False))
    for target in Phase:
        change = Change.of(replace(job, phase=phase), 0.0, 0.0)
        if target in NEXT[phase] or target is phase:
            assert change.move(target, "", "").job.phase is target
        else:
            with pytest.raises(NoSuchStep):
                change.move(target, "", "")
