"""What both typed clients have in common: values to requests, replies to values, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, TypedDict, TypeVar

from pydantic import BaseModel, ValidationError

from tenuto.client.ask import Ask, Give, Line, Pause, Play, asked
from tenuto.client.calls import LONG_POLL, Asks
from tenuto.client.stream import LOGS, Frame
from tenuto.errors import Declined, InputInvalid, ServerFailed
from tenuto.model.phase import ENDED
from tenuto.wire.api import JobIn
from tenuto.wire.printed import LogPiece
from tenuto.wire.replies import EventOut, JobOut
from tenuto.wire.spec_form import form_of

M = TypeVar("M", bound=BaseModel)
ASKS = Asks()
JobRef = str | JobOut
"""A job: its id, the beginning of it, its name, or what the server told of it."""
Heard = EventOut | LogPiece
_REFUSED = ("declined", "unschedulable")
_SHORTEST_WAIT = 0.2
"""Seconds; a server that is about to end does not wait, and must not be asked without end."""


class JobFields(TypedDict, total=False):
    """The keys of a job, as in a job file; a deadline may also be a moment or a span of time."""

    name: str
    run: str | Sequence[str]
    module: str | Sequence[str]
    setup: str
    env: Mapping[str, str]
    workdir: str
    environment: str
    strategy: str
    workers: int | str | Mapping[str, int]
    preferred: int
    gpus: int
    roles: Mapping[str, Mapping[str, Any]]
    limits: Mapping[str, Any]
    total: float | Mapping[str, float]
    global_batch: int
    deadline: str | datetime | timedelta
    curve: Mapping[int, float] | Literal["auto"]
    profile: str
    checkpoint: str | Mapping[str, Any]
    priority: Literal["normal", "urgent"]
    urgent: bool
    share: bool
    idle: Literal["tell", "shrink", "ignore"]
    start: Literal["parallel", "ordered"]
    after: str | Mapping[str, str]
    node: str
    labels: Mapping[str, str]
    retry: int | Mapping[str, int]
    max_duration: float | str
    grace: float | str
    params: Mapping[str, Any]


class Wishes(TypedDict, total=False):
    """What can be changed about a job; None takes a value away."""

    deadline: str | datetime | timedelta | None
    priority: Literal["normal", "urgent"]
    after: str | Mapping[str, str] | None
    name: str
    labels: Mapping[str, str] | None


def ref_of(job: JobRef) -> str:
    """What a job is called in a request."""
    return job if isinstance(job, str) else job.id


def body_of(job: JobIn | Mapping[str, Any] | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A job as it is sent: as a value, or as keys with values, some of them maybe replaced."""
    form = form_of(job.spec()) if isinstance(job, JobIn) else dict(job or {})
    return sendable({**form, **fields})


def sendable(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same in what JSON knows: moments as text, sizes of a curve as text."""
    sent = dict(values)
    if isinstance(sent.get("deadline"), datetime | timedelta):
        sent["deadline"] = _deadline(sent["deadline"])
    if isinstance(sent.get("curve"), Mapping):
        sent["curve"] = {str(size): rate for size, rate in sent["curve"].items()}
    return sent


def _deadline(moment: datetime | timedelta) -> str:
    if isinstance(moment, timedelta):
        return f"+{moment.total_seconds()}s"
    if moment.tzinfo is None:
        raise InputInvalid(
            "this moment has no time zone",
            remedy="Write datetime(…, tzinfo=UTC), or moment.astimezone()",
            field="deadline",
        )
    return moment.astimezone(UTC).isoformat()


def wish_of(
    workers: int | Literal["auto"] | None, nodes: Mapping[str, int] | None, **more: Any
) -> dict[str, Any]:
    """A size to be pinned; what is not said is left out."""
    given = {"workers": workers, "nodes": None if nodes is None else dict(nodes), **more}
    return {key: value for key, value in given.items() if value not in (None, False)}


def read(kind: type[M], reply: Any) -> M:
    """A reply as a value. Fields that this version does not know are passed over."""
    try:
        return kind.model_validate(reply)
    except ValidationError as error:
        raise ServerFailed(
            f"the server's answer cannot be read ({error.errors()[0]['loc']})",
            remedy="Is it older than this client? See tenuto --version on both sides",
        ) from error


def heard(frame: Frame) -> Heard:
    """A message of the stream as a value."""
    return read(LogPiece, frame.json()) if frame.name == LOGS else read(EventOut, frame.json())


def pages(line: Line, ask: Callable[[str | None], Ask]) -> Play[None]:
    """Every record of a list, page after page."""
    cursor: str | None = None
    while True:
        page = yield from asked(line, ask(cursor))
        for item in page["items"]:
            yield Give(item)
        cursor = page["next"]
        if cursor is None:
            return


def awaited(line: Line, ref: str, wait: Literal["verdict", "end"], seconds: float | None) -> Play[Any]:
    """The job when there is a verdict, or when it has ended. Raises TimeoutError."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        begun = time.monotonic()
        left = LONG_POLL if until is None else max(0.0, min(LONG_POLL, until - begun))
        job = yield from asked(line, ASKS.job(ref, wait=wait, timeout=left))
        ref = job["id"]
        if _has_come(job, wait):
            return job
        if until is not None and time.monotonic() >= until:
            raise TimeoutError(f"job {ref} is {job['state']} after {seconds:g} seconds")
        yield Pause(max(0.0, _SHORTEST_WAIT - (time.monotonic() - begun)))


def _has_come(job: Mapping[str, Any], wait: str) -> bool:
    if wait == "end":
        return job["state"] in ENDED
    resumed = job["state"] == "paused" and not job["wish"]  # it is about to be asked for anew
    return job["state"] != "submitted" and not resumed


def granted(job: JobOut) -> JobOut:
    """A job to which the platform said yes. Raises Declined with the reason and what could be had."""
    if job.state not in _REFUSED:
        return job
    offers = None if job.contract is None else job.contract.offers
    remedies = []
    if offers is not None and offers.earliest is not None:
        remedies.append(f"It could be promised for {offers.earliest}")
    if offers is not None and offers.steps is not None:
        remedies.append(f"By its deadline {offers.steps:g} steps can be done")
    told = f"job {job.id} is {job.state}: {job.message or job.why}".rstrip(".")
    no = Declined(told, remedy="; ".join(remedies) or "Ask for less, or later")
    no.job = job.id
    raise no
