"""One job's way through a tick, before any round: wishes, workers, places, time limits. Pure.

The steps are taken in an order in which none has to look back: what its owner wants, where its workers stand, how
they are, how long they may; then the end, if one is decided and nobody of it lives any more.
"""

from __future__ import annotations

from dataclasses import replace

from tenuto.live.change import Change, ran_for
from tenuto.live.in_place import look_at_crew
from tenuto.live.mirror import Records, waits_for
from tenuto.live.promise import closed, kept_up
from tenuto.live.sight import Sight, belongs, worker_of
from tenuto.live.workers import look_at_places, look_at_workers
from tenuto.model.job import Condition, Ending, Job
from tenuto.model.phase import ENDED, PLACED, Phase
from tenuto.settings import Scheduling
from tenuto.store.base import Attempt
from tenuto.wire.worker import ExitReason, WorkerSeen, WorkerState

P = Phase
STOPPED_FOR_DOWN = "shutting_down"


def walk(change: Change, sight: Sight, records: Records) -> Change:
    """Bring one job up to date."""
    change = _note_attempts(change, sight)  # 1 what is known of each start
    change = _heed_wishes(change)  # 2 cancel, pause, resume
    change = _heed_predecessor(change, records)  # 3 `after`
    change = _look(
        change, sight, records.scheduling
    )  # 4 running, done, failed, lost; 5 nodes lost or drained
    change = _heed_shutdown(change, records)  # 6 `down`
    change = _heed_time_limit(change)  # 7 max_duration
    change = _finish(change, sight)  # 8 the end, once all its workers are gone
    return kept_up(change)  # 9 what has become of its promise


def _look(change: Change, sight: Sight, scheduling: Scheduling) -> Change:
    """See how a job's workers and their places are."""
    if change.job.spec.in_place:
        return look_at_crew(change, sight, scheduling)
    return look_at_places(look_at_workers(change, sight, scheduling.start_cost), sight)


def ask_again(change: Change, reason: str) -> Change:
    """Let a job that fitted nowhere be answered anew."""
    job = change.job
    if job.phase is not P.UNSCHEDULABLE or job.ending is not None:
        return change
    return change.move(P.SUBMITTED, "asked_again", f"{reason}; waits for a new answer")


def _note_attempts(change: Change, sight: Sight) -> Change:
    """Complete the attempts by what is seen now; who is gone unseen was stopped."""
    shown = {worker.id: worker for worker in sight.of(change.job.id)}
    for attempt in sight.attempts.get(change.job.id, ()):
        if attempt.ended_at is not None:
            continue
        after = _as_seen(attempt, shown.get(worker_of(attempt)))
        if after is attempt and _is_gone(attempt, sight, change.job):
            reason, message = (
                ("lost", f"node {attempt.node} is lost")
                if attempt.node in sight.lost
                else (ExitReason.STOPPED.value, "" if attempt.started_at else "never started")
            )
            after = replace(attempt, ended_at=change.at, reason=reason, message=message)
        if after != attempt:
            change = change.note(after)
    return change


def _as_seen(attempt: Attempt, seen: WorkerSeen | None) -> Attempt:
    if seen is None:
        return attempt
    ended = seen.state is WorkerState.EXITED
    return replace(
        attempt,
        pid=seen.pid,
        started_at=seen.started_at,
        ended_at=seen.ended_at if ended else None,
        exit_code=seen.exit_code,
        reason="" if seen.reason is None else seen.reason.value,
        message=seen.message,
        joined=seen.generation or attempt.joined,
        # Within a step it waits for others; who trains does so many times a second.
        stage="training" if seen.stage == "meeting" else seen.stage,
    )


def _is_gone(attempt: Attempt, sight: Sight, job: Job) -> bool:
    """Whether a worker that is not shown will not come any more."""
    if attempt.node in sight.lost or attempt.node not in sight.nodes:
        return True
    wanted = belongs(job, worker_of(attempt)) and job.phase in PLACED and job.ending is None
    comes = wanted or worker_of(attempt) in sight.underway
    return not comes and attempt.node in sight.seen.nodes


def _heed_wishes(change: Change) -> Change:
    job = change.job
    pausing = job.ending is not None and job.ending.phase is P.PAUSED
    if job.cancel and (job.ending is None or pausing):
        reason = f"cancelled by {job.actor}" if job.actor else "cancelled"
        change = change.withdraw(reason, job.actor or "user")
        return change.end(Ending(phase=P.CANCELLED, why="cancelled", message=reason))
    if job.ending is not None:
        return change
    if job.pause and job.phase is not P.PAUSED:
        reason = f"paused by {job.actor}" if job.actor else "paused"
        change = change.withdraw(reason, job.actor or "user")
        return change.end(Ending(phase=P.PAUSED, why="paused", message=reason))
    if not job.pause and job.phase is P.PAUSED:
        return change.move(P.SUBMITTED, "resumed", "resumed; waits for an answer", job.actor or "user")
    return change


def _heed_predecessor(change: Change, records: Records) -> Change:
    """Wait for the job before, begin when its end is the right one, and fail when it never will be."""
    job = change.job
    after = job.spec.after
    waits = job.phase in (P.SUBMITTED, P.HELD) and bool(waits_for(job))
    if job.ending is not None or not waits or after is None:
        return change
    phase = records.before.get(after.job)
    if phase is None:
        if job.contract is not None:  # it was answered, so its turn had come before the other was deleted
            return change
        return _in_vain(change, f"job {after.job}, for which it waits, is not there any more")
    if phase not in ENDED:
        if job.phase is P.HELD:
            return change
        return change.move(P.HELD, "after", f"waits for job {after.job}")
    if _fits(after.condition, phase):
        if job.phase is P.SUBMITTED:
            return change
        return change.move(P.SUBMITTED, "after", f"job {after.job} {_ended(phase)}; waits for an answer")
    return _in_vain(
        change, f"job {after.job} {_ended(phase)}, and this one was to begin after {_wanted(after.condition)}"
    )


def _ended(phase: Phase) -> str:
    return f"has {phase.value}" if phase in (P.SUCCEEDED, P.FAILED) else f"was {phase.value}"


def _fits(condition: Condition, phase: Phase) -> bool:
    match condition:
        case Condition.ANY:
            return True
        case Condition.OK:
            return phase is P.SUCCEEDED
        case Condition.FAIL:
            return phase in (P.FAILED, P.LOST)


def _wanted(condition: Condition) -> str:
    return "its success" if condition is Condition.OK else "its failure"


def _in_vain(change: Change, message: str) -> Change:
    return change.end(Ending(phase=P.FAILED, why="dependency", message=message))


def _heed_shutdown(change: Change, records: Records) -> Change:
    if not records.draining or change.job.phase not in PLACED or change.job.ending is not None:
        return change
    message = "stopped because the platform is being shut down; it goes on at the next start"
    return change.release().move(P.QUEUED, STOPPED_FOR_DOWN, message)


def _heed_time_limit(change: Change) -> Change:
    job = change.job
    limit = job.spec.max_duration
    if limit is None or job.ending is not None or job.phase not in PLACED or ran_for(job, change.at) < limit:
        return change
    message = f"stopped after {limit:g} seconds, as its max_duration says"
    return change.end(Ending(phase=P.FAILED, why="max_duration", message=message))


def _finish(change: Change, sight: Sight) -> Change:
    """Enter the phase that was decided, once all workers are gone for certain."""
    ending = change.job.ending
    if ending is None:
        return change
    change = change.release()
    if sight.anybody(change.job.id):
        return change
    change = change.put(ending=None, exit_code=ending.exit_code)
    return closed(change.move(ending.phase, ending.why, ending.message))
