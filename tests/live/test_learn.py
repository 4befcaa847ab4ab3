"""A job that asked for it gets its curve measured while it trains, size by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from tests.forecast.records import NOW, a_record, a_spec
from tests.live.platform import Platform

from tenuto.forecast.measured import CURVES, known_curve
from tenuto.forecast.measuring import plan_measuring
from tenuto.forecast.profiles import resolve_curve
from tenuto.live.learn import Learner, Track, note_steps, rate_of
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase, PromiseState
from tenuto.settings import Learning
from tenuto.wire.worker import WorkerId, WorkerSeen, WorkerState

SETTINGS = Learning(steps=10.0, seconds=5.0, least=1.0, patience=60.0)
SLOTS = 4


def asking(**known: object) -> Job:
    """A job of one to four workers that waits to be measured."""
    job = a_record(1, spec={"auto": True, "name": "测量"}, curve={}, deadline=NOW + 900.0, phase=Phase.QUEUED)
    job = replace(job, contract=plan_measuring(job, NOW, SLOTS, SETTINGS))
    return replace(job, **known)  # type: ignore[arg-type]


def running(job: Job, workers: int, generation: int) -> Job:
    return replace(job, phase=Phase.RUNNING, slots={"node-0": tuple(range(workers))}, generation=generation)


def seen(job: Job, step: float | None, state: WorkerState = WorkerState.RUNNING) -> list[WorkerSeen]:
    """All workers of the job's present generation; rank 0 is a step ahead of the others."""
    return [
        WorkerSeen(
            id=WorkerId(job.id, job.generation, "worker", rank),
            node="node-0",
            state=state,
            step=step if rank == 0 or step is None else step - 1.0,
        )
        for rank in range(job.workers)
    ]


def watched(learner: Learner, job: Job, steps: Sequence[float | None], since: float) -> tuple[Job, float]:
    """Show the learner one step after the other, a second apart, until it wants the record changed."""
    now = since
    for step in steps:
        now += 1.0
        changed = learner.note(job, seen(job, step), now, SLOTS)
        if changed is not None:
            return changed, now
    return job, now


def test_the_first_answer_says_when_the_firm_one_comes() -> None:
    contract = asking().contract

    assert contract is not None
    assert contract.reply is Reply.MEASURING
    assert contract.firm_at == NOW + 3 * 60.0
    assert contract.message.startswith("measuring: runs on 1, 2, 4 workers in turn without a promise")


def test_a_job_is_measured_at_every_size_and_then_asks_for_its_promise() -> None:
    learner = Learner(SETTINGS)
    job, now = asking(), NOW
    for generation, (workers, speed) in enumerate([(1, 3.0), (2, 5.0), (4, 8.0)], start=1):
        before = running(job, workers, generation)
        job, now = watched(learner, before, [speed * second for second in range(40)], now)
        assert job.curve[workers] == pytest.approx(speed)
        if workers < 4:
            assert job.contract is not None and job.contract.reply is Reply.MEASURING

    assert job.curve == pytest.approx({1: 3.0, 2: 5.0, 4: 8.0})
    assert job.contract is None
    assert job.deadline == NOW + 900.0


def test_slow_steps_count_once_enough_time_has_passed() -> None:
    slow = running(asking(), 1, 1)

    job, now = watched(Learner(SETTINGS), slow, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 3.0], NOW)

    assert job.curve == pytest.approx({1: 1 / 3})
    assert now == NOW + 10.0


def test_time_before_all_workers_run_does_not_count() -> None:
    learner = Learner(SETTINGS)
    job = running(asking(), 1, 1)

    for second in range(100):
        assert learner.note(job, seen(job, None, WorkerState.WAITING), NOW + second, SLOTS) is None
    measured, _ = watched(learner, job, [float(4 * second) for second in range(30)], NOW + 100.0)

    assert measured.curve == pytest.approx({1: 4.0})


def test_a_command_that_reports_nothing_is_declined_with_the_remedy() -> None:
    silent = running(asking(), 1, 1)

    job, now = watched(Learner(SETTINGS), silent, [None] * 100, NOW)

    assert job.ending is not None
    assert job.ending.phase is Phase.DECLINED
    assert job.ending.why == "no_steps_reported"
    assert "TENUTO_REPORT" in job.ending.message
    assert now == NOW + 61.0


def test_a_command_that_falls_silent_later_keeps_what_was_measured() -> None:
    learner = Learner(SETTINGS)
    job, now = watched(learner, running(asking(), 1, 1), [float(second) for second in range(30)], NOW)

    job, _ = watched(learner, running(job, 2, 2), [None] * 100, now)

    assert job.ending is None
    assert job.curve == pytest.approx({1: 1.0})
    assert job.contract is None


def test_a_job_that_finds_no_room_for_the_next_size_is_answered_with_what_is_known() -> None:
    learner = Learner(SETTINGS)
    job, now = watched(learner, running(asking(), 1, 1), [float(second) for second in range(30)], NOW)
    waiting = replace(job, phase=Phase.QUEUED, slots={})

    assert learner.note(waiting, [], now + 1.0, SLOTS) is None
    answered = learner.note(waiting, [], now + 61.0, SLOTS)

    assert answered is not None
    assert answered.contract is None
    assert answered.curve == job.curve


def test_a_job_that_finds_no_room_at_all_goes_on_waiting_and_says_so() -> None:
    learner = Learner(SETTINGS)
    job = asking()

    assert learner.note(job, [], NOW + 100.0, SLOTS) is None
    later = learner.note(job, [], NOW + 200.0, SLOTS)

    assert later is not None and later.contract is not None
    assert later.contract.reply is Reply.MEASURING
    assert later.contract.firm_at == NOW + 200.0 + 3 * 60.0


def test_a_step_back_to_the_checkpoint_begins_the_count_anew() -> None:
    track: Track | None = None
    job = running(asking(), 1, 1)
    for second, step in enumerate([10.0, 20.0, 5.0, 6.0, 7.0]):
        track = note_steps(track, job, seen(job, step), NOW + second)

    assert track is not None
    assert (track.steps, track.seconds) == (1.0, 1.0)
    assert rate_of(track, NOW + 5.0, SETTINGS) is None
    assert rate_of(track, NOW + 60.0, SETTINGS) == 1.0


def test_a_new_generation_is_measured_from_its_own_beginning() -> None:
    first = running(asking(), 1, 1)
    track = note_steps(None, first, seen(first, 10.0), NOW)

    again = running(asking(), 1, 2)
    track = note_steps(track, again, seen(first, 11.0), NOW + 9.0)

    assert (track.generation, track.running, track.reported) == (2, False, None)


def test_a_job_that_is_not_measured_is_left_alone() -> None:
    learner = Learner(SETTINGS)
    job = running(a_record(1), 1, 1)

    assert learner.note(job, seen(job, 5.0), NOW, SLOTS) is None
    assert learner.next_look(NOW) == float("inf")


def test_the_learner_wants_to_look_again_when_its_patience_ends() -> None:
    learner = Learner(SETTINGS)
    job = running(asking(), 1, 1)
    learner.note(job, seen(job, None), NOW, SLOTS)

    assert learner.next_look(NOW + 1.0) == NOW + 60.0


def measured_on(here: Platform, job: str, speed: Mapping[int, float], seconds: int, **told: float) -> None:
    """Let time pass in which the job's rank 0 reports steps at these speeds, and what else is told."""
    step = 0.0
    for _ in range(seconds):
        workers = here.workers(job)
        step += speed.get(len(workers), 0.0)
        if workers:
            here.engine.report(workers[0], step, **told)
        here.pass_time(1.0)


def test_a_measured_curve_is_kept_for_later_jobs_of_that_profile() -> None:
    here = Platform()
    job = here.submit("żółw", deadline=5000.0, steps=900.0, curve={}, auto=True)

    measured_on(here, job, {1: 3.0, 2: 5.0, 4: 8.0}, 60)

    record = here.job(job)
    assert record.promise is PromiseState.HOLDS
    stored = here.store.read(lambda tx: tx.meta("profiles"))
    assert resolve_curve(a_spec(profile="żółw"), stored) == record.curve
    assert record.curve == pytest.approx({1: 3.0, 2: 5.0, 4: 8.0})


def test_measuring_breaks_no_promise() -> None:
    here = Platform()
    promised = here.submit(deadline=51.0, max_workers=2, curve={1: 1.0, 2: 2.0})
    job = here.submit(deadline=5000.0, steps=900.0, curve={}, auto=True, min_workers=2)

    measured_on(here, job, {2: 5.0, 4: 8.0}, 50)
    here.exit(promised)

    assert here.job(promised).promise is PromiseState.KEPT
    assert here.job(job).curve[2] == pytest.approx(5.0)


def test_a_command_that_tells_nothing_is_stopped_and_declined() -> None:
    here = Platform()
    job = here.submit(deadline=5000.0, steps=900.0, curve={}, auto=True)

    here.pass_time(30.0)
    assert here.phase(job) is Phase.RUNNING
    here.pass_time(31.0)

    assert (here.phase(job), here.job(job).why) == (Phase.DECLINED, "no_steps_reported")
    assert here.workers(job) == []
    assert here.store.read(lambda tx: tx.meta("profiles")) is None


def test_a_command_may_tell_its_total_with_its_steps() -> None:
    here = Platform()
    job = here.submit(deadline=5000.0, steps=None, curve={}, auto=True)

    measured_on(here, job, {1: 3.0, 2: 5.0, 4: 8.0}, 50, total=900.0)

    record = here.job(job)
    assert record.total == 900.0
    assert record.promise is PromiseState.HOLDS
    assert record.progress.left < 900.0


def test_a_command_whose_total_nobody_tells_is_stopped_and_declined() -> None:
    here = Platform()
    job = here.submit(deadline=5000.0, steps=None, curve={}, auto=True)

    measured_on(here, job, {1: 3.0, 2: 5.0, 4: 8.0}, 50)

    assert (here.phase(job), here.job(job).why) == (Phase.DECLINED, "no_total_reported")
    assert here.workers(job) == []


def test_the_last_step_is_kept_when_a_job_ends() -> None:
    here = Platform()
    job = here.submit(steps=900.0)
    [first, *_] = here.workers(job)

    here.engine.report(first, 10.0)
    here.pass_time(1.0)
    here.engine.report(first, 900.0)
    here.exit(job)

    assert here.job(job).progress.step == 900.0


def members(job: Job, step: float, joined: Sequence[int]) -> list[WorkerSeen]:
    """Workers of a job that rescales in place: each was born in another generation, and has joined one."""
    return [
        WorkerSeen(
            id=WorkerId(job.id, born, "worker", rank),
            node="node-0",
            state=WorkerState.RUNNING,
            step=step,
            generation=generation,
        )
        for rank, (born, generation) in enumerate(zip((1, 3), joined, strict=False))
    ]


def in_place(job: Job) -> Job:
    return replace(job, spec=replace(job.spec, strategy="allreduce"))


def test_members_of_different_birth_count_when_they_have_joined_one_generation() -> None:
    job = in_place(running(asking(), 2, 3))
    track = note_steps(None, job, members(job, 10.0, [1, 3]), NOW)
    assert not track.running, "one is still in its old group"

    for second in range(1, 5):
        track = note_steps(track, job, members(job, 10.0 + second, [3, 3]), NOW + second)

    assert (track.generation, track.running, track.steps) == (3, True, 2.0)


def test_a_loss_begins_the_count_anew_though_the_size_is_wanted_again() -> None:
    job = in_place(running(asking(), 2, 3))
    track = note_steps(None, job, members(job, 10.0, [3, 3]), NOW)
    track = note_steps(track, job, members(job, 11.0, [4]), NOW + 1.0)
    track = note_steps(track, job, members(job, 12.0, [5, 5]), NOW + 2.0)

    assert (track.generation, track.reported, track.first) == (5, 12.0, None)


def test_the_pace_that_records_tell_is_believed_at_once() -> None:
    here = Platform()
    job = here.submit("темп", deadline=5000.0, steps=900.0, curve={}, auto=True, max_workers=2)
    here.pass_time(1.0)
    told = {"1": {"steps": 40.0, "seconds": 10.0, "generation": 1}}
    here.store.write(lambda tx: tx.set_meta(f"paces/{job}", told))
    here.pass_time(1.0)

    assert here.job(job).curve == {1: 4.0}
    more = {**told, "2": {"steps": 70.0, "seconds": 10.0, "generation": 2}}
    here.store.write(lambda tx: tx.set_meta(f"paces/{job}", more))
    here.pass_time(10.0)

    assert here.job(job).curve == {1: 4.0, 2: 7.0}
    assert here.job(job).promise is PromiseState.HOLDS
    assert here.store.read(lambda tx: tx.meta(f"paces/{job}")) is None
    curves = here.store.read(lambda tx: tx.meta(CURVES))
    known = known_curve(curves, here.job(job).spec, {"cpu"}, {1, 2})
    assert known is not None
    assert known.curve == {1: 4.0, 2: 7.0}


def test_few_steps_that_records_tell_are_not_enough() -> None:
    here = Platform()
    job = here.submit(deadline=5000.0, steps=900.0, curve={}, auto=True)
    told = {"1": {"steps": 4.0, "seconds": 1.0, "generation": 1}}
    here.store.write(lambda tx: tx.set_meta(f"paces/{job}", told))
    here.pass_time(2.0)

    assert here.job(job).curve == {}


def test_a_job_without_a_curve_is_reckoned_with_at_the_pace_it_shows() -> None:
    here = Platform()
    job = here.submit("без кривой", steps=100_000.0, curve={}, max_workers=4)
    guessed = here.job(job)
    assert (guessed.workers, guessed.progress.speed) == (4, 4.0)

    told = {"4": {"steps": 1000.0, "seconds": 2.5, "generation": 1}}
    here.store.write(lambda tx: tx.set_meta(f"paces/{job}", told))
    here.pass_time(10.0)

    record = here.job(job)
    assert (record.progress.speed, record.curve) == (400.0, {})
    assert record.contract is not None
    assert record.contract.expected == pytest.approx(here.clock.now + record.progress.left / 400.0)
    assert "estimated finish" in record.contract.message
    assert record.contract.message != (guessed.contract and guessed.contract.message)
    here.submit("сосед", steps=100_000.0, curve={}, max_workers=4)
    assert (here.job(job).workers, here.job(job).progress.speed) == (2, 200.0), "in proportion"


def test_a_pace_that_is_hardly_another_is_not_written_down() -> None:
    here = Platform()
    job = here.submit(steps=100_000.0, curve={})
    for steps in (1000.0, 1050.0):
        told = {"4": {"steps": steps, "seconds": 2.5, "generation": 1}}
        here.store.write(lambda tx, told=told: tx.set_meta(f"paces/{job}", told))  # type: ignore[misc]
        here.pass_time(10.0)

    assert here.job(job).progress.speed == 400.0
