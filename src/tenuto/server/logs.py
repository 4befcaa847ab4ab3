"""Logs: what the workers of one generation printed, in pieces by offset, by their last lines, or as a file.

Workers of a job that rescales in place live through many generations; here they belong to that of their birth, and
who names none gets all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import Conflict, NotFound
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import ENDED
from tenuto.server.find import job_called
from tenuto.server.jobs import Ref
from tenuto.server.paging import Text
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.utf8 import whole_characters
from tenuto.store.base import Attempt, Tx
from tenuto.store.logs import LogStore
from tenuto.wire.printed import LogPart, LogsOut
from tenuto.wire.replies import DeletedOut
from tenuto.wire.worker import WORKER, WorkerId

router = APIRouter(prefix="/jobs", tags=["logs"])

MOST_AT_ONCE = 4 << 20
"""Bytes of one answer, all workers together."""
EXIT_LINE = b"Program exit with code "
"""How a log ends that has come whole."""
LATE = 10.0
"""Seconds after a worker's end in which the rest of its log may still be on its way."""
_STREAM = 256 << 10


class LogFilter(BaseModel):
    """Whose logs, and which part of them."""

    model_config = ConfigDict(extra="forbid")

    role: Text = ""
    rank: int | None = Field(default=None, ge=0, le=1 << 20)
    generation: int | None = Field(
        default=None,
        ge=0,
        le=1 << 31,
        description="The newest, if not said; every worker, if the job rescales in place.",
    )
    tail: int | None = Field(
        default=None, ge=0, le=100_000, description="The last lines of each; no offset then."
    )
    offset: int = Field(default=0, ge=0, le=1 << 62, description="Bytes to leave out at the beginning.")
    limit: int = Field(default=64 << 10, ge=16, le=1 << 20, description="Bytes of each worker at most.")


@dataclass(frozen=True, slots=True)
class _Workers:
    """The workers of one generation, or all."""

    job: Job
    generation: int
    attempts: Mapping[WorkerId, Attempt | None]


@router.get("/{ref}/logs", response_model=LogsOut)
def read_logs(here: Here, ref: Ref, which: Annotated[LogFilter, Query()]) -> LogsOut:
    """Read what workers printed. Ask again with `offset` = `next` for what follows; a character is never cut in two."""
    found = _workers(here, ref, which.generation)
    chosen = [
        worker
        for worker in found.attempts
        if which.role in ("", worker.role) and which.rank in (None, worker.rank)
    ]
    limit = min(which.limit, max(MOST_AT_ONCE // max(len(chosen), 1), 1024))
    parts = [_part(here, worker, found.attempts[worker], which, limit) for worker in chosen]
    return LogsOut(job=found.job.id, generation=found.generation, parts=parts)


def _workers(here: Platform, ref: str, generation: int | None) -> _Workers:
    job, attempts = here.store.read(lambda tx: ((job := job_called(tx, ref)), tx.attempts(job.id)))
    known: dict[WorkerId, Attempt | None] = dict.fromkeys(here.logs.workers(job.id))
    known |= {WorkerId(one.job, one.generation, one.role, one.rank): one for one in attempts}
    newest = max((worker.generation for worker in known), default=job.generation)
    chosen = newest if generation is None else generation
    every = generation is None and job.spec.in_place
    # Workers first, then the other roles; by rank.
    mine = sorted((worker for worker in known if every or worker.generation == chosen), key=_order)
    return _Workers(job, chosen, {worker: known[worker] for worker in mine})


def _order(worker: WorkerId) -> tuple[bool, str, int, int]:
    return worker.role != WORKER, worker.role, worker.generation, worker.rank


def _part(here: Platform, worker: WorkerId, attempt: Attempt | None, which: LogFilter, limit: int) -> LogPart:
    if which.tail is None:
        offset, data = here.logs.read(worker, which.offset, limit)
    else:
        offset, data = here.logs.tail(worker, which.tail, limit)
    first, end = here.logs.extent(worker)
    at_end = offset + len(data) >= end
    ended = at_end and attempt is not None and _is_complete(here, worker, attempt)
    whole = data if ended else whole_characters(data)
    return LogPart(
        worker=str(worker),
        role=worker.role,
        rank=worker.rank,
        generation=worker.generation,
        node="" if attempt is None else attempt.node,
        first=first,
        offset=offset,
        next=offset + len(whole),
        text=whole.decode("utf-8", "replace"),
        ended=ended,
        exit_code=None if attempt is None else attempt.exit_code,
    )


def _is_complete(here: Platform, worker: WorkerId, attempt: Attempt) -> bool:
    """Whether all that a worker printed has come: its last line tells, or it has been gone for long enough."""
    if attempt.ended_at is None:
        return False
    _, last = here.logs.tail(worker, 1, 200)
    return last.startswith(EXIT_LINE) or here.clock() - attempt.ended_at > LATE


@router.delete("/{ref}/logs", response_model=DeletedOut)
def delete_logs(here: Here, who: Who, ref: Ref) -> DeletedOut:
    """Delete what a job's workers printed, once it has ended; the job itself stays, and so does every other log."""
    now = here.clock()

    def act(tx: Tx) -> list[str]:
        job = job_called(tx, ref)
        if job.phase not in ENDED:
            raise Conflict(
                f"job {job.id} has not ended", code="running", remedy=f"tenuto cancel {job.id} first"
            )
        if not here.logs.workers(job.id):
            return []
        reason = f"{who} asked for it"
        tx.add_event(Event(kind="logs", at=now, actor=who, job=job.id, after="deleted", reason=reason))
        return [job.id]

    gone = here.store.write(act)
    for job in gone:
        here.logs.remove(job)
    return DeletedOut(deleted=gone)


@router.get("/{ref}/logs/raw", response_class=StreamingResponse)
def download_log(
    here: Here,
    ref: Ref,
    role: Annotated[Text, Query()] = WORKER,
    rank: Annotated[int, Query(ge=0, le=1 << 20)] = 0,
    generation: Annotated[int | None, Query(ge=0, le=1 << 31)] = None,
) -> StreamingResponse:
    """Download one worker's log as it was printed, byte for byte."""
    found = _workers(here, ref, generation)
    worker = WorkerId(found.job.id, found.generation, role, rank)
    if worker not in found.attempts:
        raise NotFound(
            f"job {found.job.id} has no {role[:60]} {rank} in generation {found.generation}",
            remedy="GET the logs without /raw to see which there are",
        )
    name = f"{worker}.log"
    return StreamingResponse(
        _bytes_of(here.logs, worker),
        media_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _bytes_of(logs: LogStore, worker: WorkerId) -> Iterator[bytes]:
    """Everything that is kept now, in pieces."""
    position, end = logs.extent(worker)
    while position < end:
        start, data = logs.read(worker, position, min(_STREAM, end - position))
        if not data:
            return
        yield data
        position = start + len(data)
