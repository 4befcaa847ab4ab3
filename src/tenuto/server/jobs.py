"""Jobs: submit, list, show, change, pause, resume, cancel, resubmit, delete."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Body, Header, Path, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tenuto.errors import InputInvalid
from tenuto.model.job import Job
from tenuto.model.phase import ENDED, Phase
from tenuto.server import wishes
from tenuto.server.deadlines import check_promisable
from tenuto.server.find import job_called
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.outlook import Seen
from tenuto.server.paging import Limit, Text, cursor_of, number_in
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.scene import View, foresee_then_write, view
from tenuto.server.show import WorkersNow, shown, shown_attempt, shown_job, shown_jobs
from tenuto.server.submit import edit_of, resubmit, submit_soon
from tenuto.server.wishes import Asker, Edit
from tenuto.store.base import JobQuery, Tx
from tenuto.suggest import did_you_mean
from tenuto.wire.api import JobIn
from tenuto.wire.asks import JobEdit, ResubmitIn
from tenuto.wire.hosts_file import host_line
from tenuto.wire.quantities import Unusable
from tenuto.wire.replies import AttemptOut, DeletedOut, HostsOut, JobOut, Page

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=BodyRoute)

Ref = Annotated[
    str,
    Path(max_length=100, description="An id, the beginning of an id (four characters at least), or a name."),
]
Key = Annotated[str | None, Header(alias="Idempotency-Key", description="The same key never makes two jobs.")]


def _known_states(states: list[str]) -> list[str]:
    given = [state for text in states for state in text.split(",") if state]
    for state in given:
        if state not in list(Phase):
            guess = did_you_mean(state, list(Phase)).strip()
            raise Unusable(f"there is no state {state[:60]!r}", guess or f"Known are {', '.join(Phase)}")
    return given


class WhichJobs(BaseModel):
    """Which jobs are meant."""

    model_config = ConfigDict(extra="forbid")

    state: Annotated[list[str], AfterValidator(_known_states)] = Field(
        default=[], description="Any of these states; repeated, or with commas between."
    )
    owner: Text = ""
    label: list[Text] = Field(default=[], description="`name=value`; all of them, if repeated.")
    name: Text = Field(default="", description="Exactly this name.")
    text: Text = Field(default="", description="Part of the name, or the beginning of the id.")

    def to_query(self) -> JobQuery:
        """As the store asks it."""
        labels = dict(_pair(label) for label in self.label)
        return JobQuery(
            phases=frozenset(Phase(state) for state in self.state),
            owner=self.owner,
            labels=labels,
            name=self.name,
            text=self.text,
        )


class JobFilter(WhichJobs):
    """Which jobs to list."""

    cursor: Text = Field(default="", description="`next` of the page before.")
    limit: Limit = 50

    def to_query(self) -> JobQuery:
        """As the store asks it; one more than wanted, to see whether there is a next page."""
        return replace(super().to_query(), before=number_in(self.cursor), limit=self.limit + 1)


def _pair(label: str) -> tuple[str, str]:
    name, equals, value = label.partition("=")
    if not name or not equals:
        raise InputInvalid(f"{label[:80]!r} is no label", remedy="Write name=value", field="label")
    return name, value


class Until(StrEnum):
    """What a client waits for."""

    VERDICT = "verdict"
    END = "end"


@router.post("", status_code=201, response_model=JobOut)
async def submit_job(here: Here, who: Who, job: JobIn, idempotency_key: Key = None) -> JobOut:
    """Submit a job. The answer comes at once; `GET /jobs/{ref}?wait=verdict` waits for what it is answered."""
    return await submitted(here, who, job, idempotency_key)


@router.get("", response_model=Page[JobOut])
def list_jobs(here: Here, which: Annotated[JobFilter, Query()]) -> Page[JobOut]:
    """List jobs, newest first."""
    query, now = which.to_query(), here.clock()

    def look(tx: Tx) -> Page[JobOut]:
        found = tx.jobs(query)
        page = found[: which.limit]
        more = len(found) > which.limit
        return Page(items=shown_jobs(tx, page, now), next=cursor_of(page[-1].number) if more else None)

    seen = outlook(here)
    found = here.store.read(look)
    return Page(items=[seen.beside(job) for job in found.items], next=found.next)


@router.get("/{ref}", response_model=JobOut)
async def show_job(
    here: Here,
    ref: Ref,
    wait: Annotated[
        Until | None, Query(description="Answer when there is a verdict, or the job's end.")
    ] = None,
    timeout: Annotated[float, Query(ge=0, le=60, description="Seconds to wait at most.")] = 20.0,
) -> JobOut:
    """Show a job, at once or when what is waited for has come."""
    if wait is None:
        seen = await run_in_threadpool(outlook, here)
        return seen.beside((await run_in_threadpool(_look, here, ref))[1])
    job, answer = await run_in_threadpool(_look, here, ref)
    if _has_come(job, wait):
        return answer
    return await _waited(here, job.id, wait, timeout)


def _look(here: Platform, ref: str) -> tuple[Job, JobOut]:
    """A job, and as it is shown."""

    def look(tx: Tx) -> tuple[Job, JobOut]:
        job = job_called(tx, ref)
        return job, here.outlook.last.beside(shown(tx, job, here.clock()))

    return here.store.read(look)


def _has_come(job: Job, wait: Until) -> bool:
    if wait is Until.END:
        return job.phase in ENDED
    resumed = job.phase is Phase.PAUSED and not job.pause  # it is about to be asked for anew
    return job.phase is not Phase.SUBMITTED and not resumed


async def _waited(here: Platform, id_: str, wait: Until, seconds: float) -> JobOut:
    """The job when what is waited for has come, or when the time is up."""
    with here.bell.watch(id_) as changed, contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not here.bell.closed:
                job, answer = await run_in_threadpool(_look, here, id_)
                if _has_come(job, wait):
                    return answer
                await changed.wait()
                changed.clear()
    return (await run_in_threadpool(_look, here, id_))[1]


@router.patch("/{ref}", response_model=JobOut)
def change_job(here: Here, who: Who, ref: Ref, edit: JobEdit) -> JobOut:
    """Change a job that has not ended: anything while it waits; deadline, priority and labels while it runs."""
    asker = Asker(who, here.clock())

    def wanted(job: Job) -> Edit:
        wishes.check_changeable(job, frozenset(edit.model_fields_set))
        return edit_of(job, edit, asker.now)

    def foresee(seen: View) -> tuple[Job, Edit]:
        assert seen.job is not None
        found = wanted(seen.job)
        check_promisable(seen, found.deadline)
        return seen.job, found

    def act(tx: Tx) -> Job:
        job = job_called(tx, ref)
        return wishes.change(tx, asker, job, wanted(job))

    if "deadline" not in edit.model_fields_set:
        return shown_now(here, here.store.write(act))
    return shown_now(
        here, foresee_then_write(here, ref, foresee, lambda tx, found: wishes.change(tx, asker, *found))
    )


@router.post("/{ref}/pause", response_model=JobOut)
def pause_job(here: Here, who: Who, ref: Ref) -> JobOut:
    """Let a job give its slots and its promise back and wait."""
    return shown_now(here, here.store.write(lambda tx: wishes.pause(tx, Asker(who, here.clock()), ref)))


@router.post("/{ref}/resume", response_model=JobOut)
def resume_job(here: Here, who: Who, ref: Ref) -> JobOut:
    """Let a paused job go on; it is answered anew."""
    return shown_now(here, here.store.write(lambda tx: wishes.resume(tx, Asker(who, here.clock()), ref)))


@router.post("/{ref}/cancel", response_model=JobOut)
def cancel_job(here: Here, who: Who, ref: Ref) -> JobOut:
    """End a job: its workers are told to stop, and after their grace they are stopped."""
    return shown_now(here, here.store.write(lambda tx: wishes.cancel(tx, Asker(who, here.clock()), ref)))


@router.post("/{ref}/resubmit", status_code=201, response_model=JobOut)
def resubmit_job(
    here: Here,
    who: Who,
    ref: Ref,
    again: Annotated[ResubmitIn | None, Body()] = None,
    idempotency_key: Key = None,
) -> JobOut:
    """Submit a job again under a new id, as it was or with some keys changed."""
    return shown_now(here, resubmit(here, who, ref, again.edit if again else {}, idempotency_key))


@router.delete("/{ref}", response_model=DeletedOut)
def delete_job(
    here: Here,
    who: Who,
    ref: Ref,
    cascade: Annotated[bool, Query(description="With all jobs that wait for it.")] = False,
) -> DeletedOut:
    """Forget a job that has no workers, with its logs and records; its events stay."""
    gone = here.store.write(lambda tx: wishes.delete(tx, Asker(who, here.clock()), ref, cascade=cascade))
    for id_ in gone:
        here.forget(id_)
    return DeletedOut(deleted=gone)


@router.get("/{ref}/attempts", response_model=Page[AttemptOut])
def list_attempts(here: Here, ref: Ref, limit: Limit = 500, cursor: Text = "") -> Page[AttemptOut]:
    """Every start of a worker of a job."""
    first = number_in(cursor) or 0
    attempts = here.store.read(lambda tx: tx.attempts(job_called(tx, ref).id))
    more = len(attempts) > first + limit
    items = [shown_attempt(attempt) for attempt in attempts[first : first + limit]]
    return Page(items=items, next=cursor_of(first + limit) if more else None)


@router.get("/{ref}/hosts", response_model=HostsOut)
def list_hosts(here: Here, ref: Ref) -> HostsOut:
    """The job's allocation for programs that expect a host list: one `host:slots` for each machine."""

    def look(tx: Tx) -> list[str]:
        job, slots = job_called(tx, ref), dict[str, int]()
        for node in tx.nodes():
            if count := len(job.places.get(node.name, ())):
                slots[node.address] = slots.get(node.address, 0) + count
        return [host_line(host, count) for host, count in slots.items()]

    return HostsOut(lines=here.store.read(look))


def outlook(here: Platform) -> Seen:
    """When jobs will be done, as it is seen now."""
    return here.outlook.now(here.store.revision(), lambda: here.store.read(lambda tx: view(here, tx)))


async def submitted(here: Platform, who: str, job: JobIn, key: str | None) -> JobOut:
    """Store a job, or find the one that the same key has made, and show it."""
    made = await submit_soon(here, who, job, key)
    if made.phase is Phase.SUBMITTED:
        return shown_job(made, {}, WorkersNow({}), here.clock())
    return await run_in_threadpool(shown_now, here, made)


def shown_now(here: Platform, job: Job) -> JobOut:
    """A job with everything about it, as the API shows it."""
    return here.store.read(lambda tx: here.outlook.last.beside(shown(tx, job, here.clock())))
