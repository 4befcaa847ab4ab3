"""What users wish for jobs, as functions over a transaction: each checks, writes the wish, and leaves its event.

Nothing here decides about slots. A wish that cannot be granted raises, and then nothing has changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tenuto.errors import Conflict, InputInvalid, NotFound
from tenuto.forecast.measured import Known
from tenuto.model.event import Event
from tenuto.model.job import After, Job, JobSpec, Progress
from tenuto.model.phase import ENDED, OPEN_PROMISES, PLACED, Phase, PromiseState
from tenuto.server.find import job_called, problem_of_job
from tenuto.server.ids import new_id
from tenuto.store.base import Keyed, Tx


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wishes, and when."""

    user: str
    now: float


@dataclass(frozen=True, slots=True)
class Submission:
    """A new job before it has an id."""

    spec: JobSpec
    deadline: float | None
    curve: Known
    """Empty if it is not known yet."""
    key: Keyed | None = None
    """With an idempotency key: the key, and what was asked for under it."""
    resubmitted_from: str = ""


def add_job(tx: Tx, asker: Asker, new: Submission) -> Job:
    """Accept a job; a key that came before gives the job that was made then."""
    if new.key is not None and (before := tx.keyed(new.key.key)) is not None:
        return made_before(tx, before, new.key)
    job = tx.add_job(record_of(tx, asker, new, new_id(tx)))
    origin = f"again, after {new.resubmitted_from}" if new.resubmitted_from else ""
    _tell(tx, asker, job, "submitted", after=str(job.phase), reason=origin, data={"name": job.spec.name})
    if new.key is not None:
        tx.remember_key(replace(new.key, result=job.id, at=asker.now))
    return job


def record_of(tx: Tx, asker: Asker, new: Submission, id_: str) -> Job:
    """A new job as it is stored, checked against what is there."""
    spec = replace(new.spec, after=_resolved(tx, new.spec.after))
    if spec.node:
        _known_node(tx, spec.node)
    return Job(
        id=id_,
        number=0,
        revision=0,
        spec=spec,
        owner=asker.user,
        submitted_at=asker.now,
        resubmitted_from=new.resubmitted_from,
        deadline=new.deadline,
        urgent=spec.urgent,
        actor=asker.user,
        curve=dict(new.curve.curve),
        curve_from=new.curve.source,
        progress=Progress(left=spec.steps or spec.epochs or 0.0, as_of=asker.now),
    )


def made_before(tx: Tx, before: Keyed, again: Keyed) -> Job:
    """The job that the same request made before."""
    if before.fingerprint != again.fingerprint:
        raise Conflict(
            "this idempotency key came with another request before",
            code="key_reused",
            remedy="Use a new key for a new request",
            field="Idempotency-Key",
        )
    job = tx.job(before.result)
    if job is None:
        raise Conflict(
            f"the job {before.result} that this key made has been deleted",
            code="key_reused",
            remedy="Use a new key to submit it again",
            field="Idempotency-Key",
        )
    return job


def _known_node(tx: Tx, name: str) -> None:
    """A node that has not joined yet may be named only if none has joined at all."""
    names = [node.name for node in tx.nodes()]
    if names and name not in names:
        raise InputInvalid(
            f"there is no node {name!r}", remedy=f"Known are {', '.join(names[:20])}", field="node"
        )


def _resolved(tx: Tx, after: After | None, waiting: Job | None = None) -> After | None:
    """The job before this one, by its id; never one that waits for this one."""
    if after is None:
        return None
    try:
        first = job_called(tx, after.job)
    except NotFound as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field="after.job") from None
    if waiting is not None and waiting.id in _chain(tx, first):
        raise InputInvalid(
            f"{first.id} itself waits for {waiting.id}", remedy="Break the circle", field="after.job"
        )
    return replace(after, job=first.id)


def _chain(tx: Tx, job: Job) -> set[str]:
    """A job and all that it waits for."""
    seen: set[str] = set()
    step: Job | None = job
    while step is not None and step.id not in seen:
        seen.add(step.id)
        step = None if step.spec.after is None else tx.job(step.spec.after.job)
    return seen


def cancel(tx: Tx, asker: Asker, ref: str) -> Job:
    """Wish a job's end; of a cancelled job it is no new wish."""
    job = job_called(tx, ref)
    if job.phase is Phase.CANCELLED or job.cancel:
        return job
    not_ended(job)
    return _wish(tx, asker, job, "cancel", cancel=True)


def pause(tx: Tx, asker: Asker, ref: str) -> Job:
    """Wish that a job gives its slots back and waits; its promise is given back too."""
    job = job_called(tx, ref)
    not_ended(job)
    not_cancelled(job)
    return job if job.pause else _wish(tx, asker, job, "pause", pause=True)


def resume(tx: Tx, asker: Asker, ref: str) -> Job:
    """Let a paused job go on; it is answered anew."""
    job = job_called(tx, ref)
    not_ended(job)
    not_cancelled(job)
    if not job.pause and job.phase is not Phase.PAUSED:
        raise Conflict(
            f"{_called(job)} is not paused", code="not_paused", remedy="There is nothing to resume"
        )
    return _wish(tx, asker, job, "resume", pause=False) if job.pause else job


def _wish(tx: Tx, asker: Asker, job: Job, verb: str, **fields: Any) -> Job:
    wished = tx.put_job(replace(job, actor=asker.user, **fields))
    _tell(tx, asker, wished, "wish", before=str(job.phase), after=verb, reason=f"{asker.user} asked for it")
    return wished


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be different; `named` are the fields that were given, so that None can mean "take it away"."""

    named: frozenset[str]
    spec: JobSpec
    """The spec as it shall be."""
    deadline: float | None
    """The deadline as it shall be."""


CHANGEABLE_WHILE_PLACED = frozenset({"deadline", "priority", "labels"})


def check_changeable(job: Job, named: frozenset[str]) -> None:
    """Refuse changes that come too late."""
    not_ended(job)
    not_cancelled(job)
    late = sorted(named - CHANGEABLE_WHILE_PLACED) if job.phase in PLACED else []
    if late:
        raise Conflict(
            f"{late[0]} cannot be changed while {_called(job)} runs",
            code="running",
            remedy="Pause or cancel it first",
            field=late[0],
        )


def change(tx: Tx, asker: Asker, job: Job, edit: Edit) -> Job:
    """Change what may be changed. Whoever shall wait for another job, or for none now, is answered anew."""
    check_changeable(job, edit.named)
    spec = edit.spec
    if "after" in edit.named:
        spec = replace(spec, after=_resolved(tx, spec.after, job))
        job = _asked_anew(tx, asker, job)
    changed = tx.put_job(
        replace(
            job,
            spec=spec,
            deadline=edit.deadline if "deadline" in edit.named else job.deadline,
            urgent=spec.urgent,
            actor=asker.user,
        )
    )
    data = {name: [_value(job, name), _value(changed, name)] for name in sorted(edit.named)}
    _tell(tx, asker, changed, "changed", reason=f"changed {', '.join(sorted(edit.named))}", data=data)
    return changed


def _asked_anew(tx: Tx, asker: Asker, job: Job) -> Job:
    """A job that shall wait for another end is a newcomer again: what it was answered counts no more."""
    reason = f"{asker.user} changed what it waits for"
    if job.promise in OPEN_PROMISES:
        gone = PromiseState.WITHDRAWN
        _tell(tx, asker, job, "promise", before=str(job.promise), after=str(gone), reason=reason)
        job = replace(job, promise=gone)
    if job.phase in (Phase.HELD, Phase.QUEUED, Phase.UNSCHEDULABLE):
        _tell(tx, asker, job, "phase", before=str(job.phase), after=str(Phase.SUBMITTED), reason=reason)
        job = replace(job, phase=Phase.SUBMITTED, why="", message=reason)
    return replace(job, contract=None)


def _value(job: Job, name: str) -> Any:
    match name:
        case "deadline":
            return job.deadline
        case "priority":
            return "urgent" if job.urgent else "normal"
        case "after":
            return None if job.spec.after is None else job.spec.after.job
        case "name":
            return job.spec.name
        case _:
            return dict(job.spec.labels)


def delete(tx: Tx, asker: Asker, ref: str, *, cascade: bool) -> list[str]:
    """Forget a job, and with `cascade` all that wait for it: all of them or none. Returns their ids.

    A job whose record cannot be read is removed by its id. Nothing orders workers for such a job, so those that it
    may have had are being stopped already; jobs that wait for it stay.
    """
    if problem_of_job(tx, ref) is not None:
        return [_delete_unreadable(tx, asker, ref.lower())]
    jobs = _with_successors(tx, job_called(tx, ref)) if cascade else [job_called(tx, ref)]
    for job in jobs:
        if _has_workers(tx, job):
            raise Conflict(
                f"{_called(job)} still has workers", code="running", remedy=f"tenuto cancel {job.id} first"
            )
    for job in jobs:
        tx.remove_job(job.id)
        reason = "" if job is jobs[0] else f"waited for {jobs[0].id}"
        _tell(tx, asker, job, "deleted", before=str(job.phase), reason=reason, data={"name": job.spec.name})
    return [job.id for job in jobs]


def _delete_unreadable(tx: Tx, asker: Asker, id_: str) -> str:
    tx.remove_job(id_)
    reason = "its record could not be read"
    tx.add_event(Event(kind="deleted", at=asker.now, actor=asker.user, job=id_, reason=reason))
    return id_


def _has_workers(tx: Tx, job: Job) -> bool:
    """Whether workers of a job run, or may: one that gave its slots back may still be stopping."""
    if job.phase in ENDED:
        return False
    if job.phase in PLACED or job.slots or job.ending is not None:
        return True
    return any(attempt.ended_at is None for attempt in tx.attempts(job.id))


def _with_successors(tx: Tx, first: Job) -> list[Job]:
    found, queue = {first.id: first}, [first]
    while queue:
        for successor in tx.successors(queue.pop().id):
            if successor.id not in found:
                found[successor.id] = successor
                queue.append(successor)
    return list(found.values())


def not_ended(job: Job) -> None:
    """Refuse a wish that comes too late."""
    end = job.phase if job.ending is None else job.ending.phase
    if end in ENDED:
        raise Conflict(
            f"{_called(job)} has ended ({end})",
            code="ended",
            remedy=f"tenuto resubmit {job.id} makes a new job of it",
        )


def not_cancelled(job: Job) -> None:
    """Refuse a wish for a job that its owner gave up."""
    if job.cancel:
        raise Conflict(
            f"{_called(job)} is being cancelled", code="being_cancelled", remedy="Resubmit it instead"
        )


def _called(job: Job) -> str:
    return f"job {job.id} ({job.spec.name})"


def _tell(tx: Tx, asker: Asker, job: Job, kind: str, **what: Any) -> None:
    tx.add_event(Event(kind=kind, at=asker.now, actor=asker.user, job=job.id, **what))
