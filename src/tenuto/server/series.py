"""Numbers over time: of nodes, GPUs, jobs and the cluster, by range and resolution; all of them as CSV.

An answer may hold a hundred thousand numbers: columns go from the store into JSON as they are, without a value each.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import isfinite
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import InputInvalid
from tenuto.model.series import CLUSTER, JOB, NODE, Subject, step_of
from tenuto.server.find import job_called, node_called
from tenuto.server.history import moment_behind
from tenuto.server.paging import Limit, Text
from tenuto.server.platform import Here, Platform
from tenuto.store.series.base import Found, SeriesQuery, SeriesStore
from tenuto.wire.quantities import Unusable, duration, rfc3339
from tenuto.wire.replies import Page
from tenuto.wire.series import NumbersOut, SubjectOut, unit_of
from tenuto.wire.series_csv import HEADER, rows_of, written

router = APIRouter(prefix="/metrics", tags=["metrics"])

MOST_AT_ONCE = 200_000
"""Points of one answer, all subjects together."""
MOST_GAPS = 500
"""Of one node; the newest."""
SKEW = 5.0
"""Seconds by which clocks of nodes may be ahead: what is told of `now` is not left out."""
LEAST_STEP = 0.1
"""Seconds; nothing is sampled more often."""
PIECE = 5000
"""Points that an export reads at a time."""
ALL, AUTO, RAW = "*", "auto", "raw"
_UNIX = re.compile(r"\d{9,11}(\.\d{1,9})?", re.ASCII)
Cursor = Annotated[str, Field(max_length=4000)]
_WHEN = "`1h` for so long ago, a date and time with its zone, or Unix seconds."


class SubjectFilter(BaseModel):
    """What is meant."""

    model_config = ConfigDict(extra="forbid")

    kind: Literal["node", "job", "cluster"] = Field(description="What is measured.")
    name: Text = Field(default="", description="Of a node; a job's id or name; all of the kind, if not said.")
    part: Annotated[list[Text], Field(max_length=20)] = Field(
        default_factory=list,
        description="Such as `gpu:0`; `gpu:` for all that begin so, `*` for all; the whole, if not said.",
    )


class SubjectsFilter(SubjectFilter):
    """Which subjects to list."""

    cursor: Cursor = Field(default="", description="`next` of the page before.")
    limit: Limit = 100


class ExportFilter(SubjectFilter):
    """Which numbers to write."""

    names: Text = Field(default="", description="Only these values, with commas between.")
    since: Text = Field(default="1h", description=f"From then on: {_WHEN}")
    until: Text = Field(default="", description="And before then; now, if not said.")
    step: Text = Field(default=RAW, description="`raw`, or the means of so long: `60`, `5m`.")


class NumbersFilter(ExportFilter):
    """Which numbers to tell."""

    step: Text = Field(default=AUTO, description="`auto`, `raw`, or the means of so long: `60`, `5m`.")
    points: int = Field(default=500, ge=1, le=10_000, description="Of each subject at most.")
    cursor: Cursor = Field(default="", description="`next` of the page before.")
    limit: Limit = Field(default=50, description="Subjects of one page.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, understood."""

    kind: str
    name: str
    parts: tuple[str, ...]
    names: frozenset[str]
    since: float
    until: float
    open: bool
    """It goes on: what is told of this very moment is meant as well."""
    step: float

    def of(self, subject: Subject, since: float, limit: int) -> SeriesQuery:
        """What the store is asked for."""
        until = self.until + SKEW if self.open else self.until
        return SeriesQuery(
            subject=subject, since=since, until=until, names=self.names, step=self.step, limit=limit
        )


@router.get("", response_model=NumbersOut)
def read_numbers(here: Here, which: Annotated[NumbersFilter, Query()]) -> Response:
    """Read numbers over time. Follow `next` for more subjects, and `next` of a subject for more points of it."""
    wanted = _understood(here, which, which.points)
    found = list(islice(_subjects(here.files.series, wanted, _after(which)), which.limit + 1))
    page, more = found[: which.limit], found[which.limit :]
    limit = max(min(which.points, MOST_AT_ONCE // max(len(page), 1)), 1)
    answer = {
        "since": rfc3339(wanted.since),
        "until": rfc3339(wanted.until),
        "items": [
            _columns(subject, here.files.series.read(wanted.of(subject, wanted.since, limit)))
            for subject in page
        ],
        "gaps": _gaps(here.files.series, page, wanted),
        "next": _cursor(page[-1]) if more else None,
    }
    text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(text.encode("utf-8", "replace"), media_type="application/json")


@router.get("/subjects", response_model=Page[SubjectOut])
def list_subjects(here: Here, which: Annotated[SubjectsFilter, Query()]) -> Page[SubjectOut]:
    """List what is measured; all parts, if none is named."""
    parts = tuple(which.part) or (ALL,)
    wanted = Wanted(which.kind, _name(here, which), parts, frozenset(), 0.0, 0.0, open=True, step=0.0)
    found = list(islice(_subjects(here.files.series, wanted, _after(which)), which.limit + 1))
    page = found[: which.limit]
    return Page(
        items=[SubjectOut(kind=one.kind, name=one.name, part=one.part) for one in page],
        next=_cursor(page[-1]) if len(found) > which.limit else None,
    )


class Csv(StreamingResponse):
    """Lines of CSV."""

    media_type = "text/csv; charset=utf-8"


@router.get(
    "/export",
    response_class=Csv,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export_numbers(here: Here, which: Annotated[ExportFilter, Query()]) -> Csv:
    """Write numbers over time as CSV, one line for each value that is known, subject by subject."""
    wanted = _understood(here, which, PIECE)
    pieces = _pieces(here.files.series, wanted)
    # What goes wrong with the first piece is still an error and no half file.
    pieces = chain([next(pieces)], pieces)
    disposition = 'attachment; filename="tenuto-metrics.csv"'
    return Csv(pieces, headers={"Content-Disposition": disposition})


def _pieces(series: SeriesStore, wanted: Wanted) -> Iterator[bytes]:
    """A file in pieces: nothing but one of them is in memory."""
    yield written([HEADER]).encode()
    for subject in _subjects(series, wanted, None):
        since: float | None = wanted.since
        while since is not None:
            found = series.read(wanted.of(subject, since, PIECE))
            rows = rows_of((subject.kind, subject.name, subject.part), found.at, found.values)
            yield written(rows).encode("utf-8", "replace")
            since = found.following


def _understood(here: Platform, which: ExportFilter, points: int) -> Wanted:
    now = here.clock()
    since = _moment(which.since, now, "since")
    until = _moment(which.until, now, "until") if which.until else now
    if until <= since:
        raise InputInvalid("it ends before it begins", remedy="Give an earlier since", field="since")
    return Wanted(
        kind=which.kind,
        name=_name(here, which),
        parts=tuple(which.part) or ("",),
        names=frozenset(which.names.split(",")) - {""},
        since=since,
        until=until,
        open=not which.until,
        step=_step(which.step, until + SKEW - since, points),
    )


def _moment(text: str, now: float, field: str) -> float:
    if _UNIX.fullmatch(text.strip()):
        return float(text)
    return moment_behind(text, now, field)


def _step(text: str, span: float, points: int) -> float:
    """Seconds of which each point is the mean; 0 for points as they came."""
    if text == AUTO:
        return step_of(span / max(points - 1, 1))
    if text == RAW:
        return 0.0
    step = _seconds(text)
    if step is None or 0 < step < LEAST_STEP:
        raise InputInvalid(
            f"{text[:60]!r} is no step",
            remedy="Write auto, raw, or a duration such as 60 or 5m",
            field="step",
        )
    return step


def _seconds(text: str) -> float | None:
    try:
        return duration(text)
    except Unusable:
        return None


def _name(here: Platform, which: SubjectFilter) -> str:
    """What the subjects are called that are meant; a job may be called by its name."""
    if which.kind == CLUSTER and which.name:
        raise InputInvalid("there is one cluster", remedy="Leave name out", field="name")
    if not which.name:
        return ""
    if which.kind == JOB:
        return here.store.read(lambda tx: job_called(tx, which.name)).id
    if not here.files.series.subjects(NODE, which.name, limit=1):
        here.store.read(lambda tx: node_called(tx, which.name))
    return which.name


def _subjects(series: SeriesStore, wanted: Wanted, after: Subject | None) -> Iterator[Subject]:
    """The subjects that are meant, in their order."""
    one = wanted.parts[0] if len(wanted.parts) == 1 else ALL
    prefix = "" if one == ALL else one
    while page := series.subjects(wanted.kind, wanted.name, prefix, limit=PIECE, after=after):
        yield from (subject for subject in page if _is_meant(subject.part, wanted.parts))
        after = page[-1]
        if len(page) < PIECE:
            return


def _is_meant(part: str, wanted: Sequence[str]) -> bool:
    return any(one in (ALL, part) or (one.endswith(":") and part.startswith(one)) for one in wanted)


def _columns(subject: Subject, found: Found) -> dict[str, Any]:
    return {
        "kind": subject.kind,
        "name": subject.name,
        "part": subject.part,
        "step": found.step,
        "means_until": found.means_until,
        "at": [round(float(at), 3) if found.step else float(at) for at in found.at],
        "values": {
            name: [None if value is None or not isfinite(value) else float(value) for value in column]
            for name, column in found.values.items()
        },
        "units": {name: unit_of(subject.part, name) for name in found.values},
        "next": found.following,
    }


def _gaps(series: SeriesStore, page: Sequence[Subject], wanted: Wanted) -> list[dict[str, Any]]:
    names = dict.fromkeys(subject.name for subject in page if subject.kind == NODE)
    return [
        {"node": name, "since": gap.since, "until": gap.until, "why": gap.why}
        for name in names
        for gap in series.gaps(name, wanted.since, wanted.until)[-MOST_GAPS:]
    ]


def _cursor(subject: Subject) -> str:
    text = json.dumps([subject.name, subject.part], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _after(which: SubjectsFilter | NumbersFilter) -> Subject | None:
    if not which.cursor:
        return None
    try:
        text = base64.urlsafe_b64decode(which.cursor.encode() + b"=" * (-len(which.cursor) % 4)).decode()
        name, part = json.loads(text)
    except (binascii.Error, ValueError, TypeError):
        name = part = None
    if not (isinstance(name, str) and isinstance(part, str) and "\0" not in name + part):
        raise InputInvalid("this is no cursor of ours", remedy="Use next of the page before", field="cursor")
    return Subject(which.kind, name, part)
