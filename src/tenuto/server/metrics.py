"""Metrics: what workers tell of their steps, taken in once and in order, and given out as series."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import InputInvalid
from tenuto.model.job import Job
from tenuto.server.auth import NODE
from tenuto.server.find import job_called
from tenuto.server.jobs import Ref
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.node_credentials import check_approved
from tenuto.server.paging import Text
from tenuto.server.platform import Here, Platform
from tenuto.server.show import moment
from tenuto.server.telling import node_of, note_events
from tenuto.server.training_series import number
from tenuto.store.base import Attempt, Token
from tenuto.store.steps import WORKER_ITSELF, Record, Stream, too_early
from tenuto.wire import records as kinds
from tenuto.wire.asks import MetricsIn
from tenuto.wire.replies import MetricsOut, PointOut, SeriesOut, ThroughputOut, WantedOut
from tenuto.wire.worker import WorkerId

router = APIRouter(prefix="/jobs", tags=["metrics"])
upload_router = APIRouter(prefix="/jobs", tags=["metrics"], route_class=BodyRoute)
"""What supervisors use, too, with the token of nodes."""

MOST_AT_ONCE = 20_000
"""Points of one answer, all workers together."""


@upload_router.post("/{ref}/metrics", response_model=WantedOut)
def add_metrics(request: Request, here: Here, ref: Ref, told: MetricsIn) -> WantedOut:
    """Store what a worker tells, each record once and in order. A node's credential is for its own workers only."""
    job = here.store.read(lambda tx: job_called(tx, ref))
    stream = Stream(_worker(job, told.worker), told.teller)
    token: Token = request.state.token
    if token.kind == NODE:
        check_approved(token)
        request.app.state.assignments.check(token.node, stream.worker)
    wanted = here.files.steps.wanted(stream)
    new = [record for record in told.records if record["seq"] >= wanted]
    if new and new[0]["seq"] > wanted and not told.skip:
        raise too_early(stream, wanted, new[0]["seq"])
    note_events(here.store, job, stream, new)
    stored = here.files.steps.append(stream, new, skip=told.skip)
    here.training.note(job, stream, stored, partial(_attempts, here, job))
    if told.teller == WORKER_ITSELF:
        here.paces.note(job, stream, stored)
        here.counts.told(job.id, stored)
    return WantedOut(next=here.files.steps.wanted(stream))


def _attempts(here: Platform, job: Job) -> list[Attempt]:
    return here.store.read(lambda tx: tx.attempts(job.id))


def _worker(job: Job, text: str) -> WorkerId:
    try:
        worker = WorkerId.parse(text)
    except ValueError:
        worker = None
    if worker is None or worker.job != job.id:
        raise InputInvalid(
            f"{text[:120]!r} is no worker of job {job.id}",
            remedy="Write its id: JOB.GENERATION.ROLE.RANK",
            field="worker",
        )
    return worker


class MetricsFilter(BaseModel):
    """Whose points, and which of them."""

    model_config = ConfigDict(extra="forbid")

    worker: Text = Field(default="", description="The id of one worker; all, if not said.")
    from_step: int = Field(default=0, ge=0, le=1 << 53, description="Leave out earlier steps.")
    every: int = Field(default=1, ge=1, le=1 << 53, description="Leave out points closer than so many steps.")
    limit: int = Field(default=500, ge=1, le=5000, description="Points of each worker at most.")
    names: Text = Field(default="", description="Only these values, with commas between.")


@router.get("/{ref}/metrics", response_model=MetricsOut)
def read_metrics(here: Here, ref: Ref, which: Annotated[MetricsFilter, Query()]) -> MetricsOut:
    """Read the series of a job's workers by step. Ask again with `from_step` = `next` for what follows."""
    job, attempts = here.store.read(lambda tx: ((job := job_called(tx, ref)), tx.attempts(job.id)))
    streams = [
        stream
        for stream in here.files.steps.streams(job.id)
        if stream.teller == WORKER_ITSELF and which.worker in ("", str(stream.worker))
    ]
    limit = min(which.limit, max(MOST_AT_ONCE // max(len(streams), 1), 10))
    series = [_series(here, stream, attempts, which, limit) for stream in streams]
    series, following = _to_one_step(series, limit)
    return MetricsOut(job=job.id, series=series, throughput=_throughput(series), next=following)


def _series(
    here: Platform, stream: Stream, attempts: list[Attempt], which: MetricsFilter, limit: int
) -> SeriesOut:
    """One point more than may be told, if there is one."""
    worker = stream.worker
    names = frozenset(which.names.split(",")) - {""}
    points: list[PointOut] = []
    for record in _thinned(here.files.steps.read(stream, which.from_step), which):
        points.append(_point(record, names))
        if len(points) > limit:
            break
    return SeriesOut(
        worker=str(worker),
        role=worker.role,
        generation=worker.generation,
        node=node_of(attempts, worker),
        first=here.files.steps.first(stream),
        points=points,
    )


def _thinned(records: Iterator[Record], which: MetricsFilter) -> Iterator[Record]:
    following = which.from_step
    for record in records:
        if record["kind"] == kinds.STEP and record["step"] >= following:
            following = record["step"] + which.every
            yield record


def _to_one_step(series: list[SeriesOut], limit: int) -> tuple[list[SeriesOut], int | None]:
    """Cut all series at the step at which the first one is full, so that pages neither overlap nor leave gaps."""
    cuts = [one.points[limit].step for one in series if len(one.points) > limit]
    if not cuts:
        return series, None
    cut = min(cuts)
    kept = [
        one.model_copy(update={"points": [point for point in one.points if point.step < cut]})
        for one in series
    ]
    return kept, cut


def _point(record: Record, names: frozenset[str]) -> PointOut:
    values: Mapping[str, Any] = record.get("values") or {}
    return PointOut(
        step=record["step"],
        at=moment(record["at"]) or "",
        generation=record["generation"],
        world=_whole(record.get("world")),
        rank=_whole(record.get("rank")),
        seconds=number(record.get("seconds")),
        samples=number(record.get("samples")),
        samples_per_second=number(record.get("samples_per_second")),
        values={name: number(value) for name, value in values.items() if not names or name in names},
    )


def _whole(value: object) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def _throughput(series: list[SeriesOut]) -> list[ThroughputOut]:
    """Of the job as its rank 0 tells it, and of each node by its share of the workers."""
    whole = {
        (point.generation, point.step): point
        for one in series
        for point in one.points
        if point.samples_per_second is not None
    }
    if not whole:
        return []
    by_node: dict[str, dict[tuple[int, int], float]] = {}
    for one in series:
        for point in one.points:
            told = whole.get((point.generation, point.step))
            if told is not None and told.samples_per_second is not None and told.world:
                on_node = by_node.setdefault(one.node, {})
                key = (point.step, point.generation)
                on_node[key] = on_node.get(key, 0.0) + told.samples_per_second / told.world
    job = {(point.step, point.generation): point.samples_per_second or 0.0 for point in whole.values()}
    return [_sorted("", job), *(_sorted(node, found) for node, found in sorted(by_node.items()) if node)]


def _sorted(node: str, found: Mapping[tuple[int, int], float]) -> ThroughputOut:
    points = sorted(found.items())
    return ThroughputOut(
        node=node,
        steps=[step for (step, _), _ in points],
        samples_per_second=[rate for _, rate in points],
    )
