"""The scaling log, read from events, newest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tenuto.model.event import Event
from tenuto.server.events import id_of
from tenuto.server.paging import Limit, Text, cursor_of, number_in
from tenuto.server.platform import Here
from tenuto.server.scaling_rows import KINDS, PHASE, SCALED, By, cause_of, has_text, is_change, row_of
from tenuto.store.base import EventQuery, Tx
from tenuto.store.matching import folded
from tenuto.wire.scaling import ScalingLogOut, ScalingOut

router = APIRouter(tags=["events"])
AT_ONCE = 500
"""Events of each kind that are read at a time."""
MOST = 4000
"""Events that are looked at for one page: who seeks something rare goes on with the next one."""


class Which(BaseModel):
    """Which changes to list."""

    model_config = ConfigDict(extra="forbid")

    job: Text = Field(default="", description="An id, the beginning of one, or a name; deleted jobs by id.")
    by: Literal["", "user", "policy", "failure", "platform"] = ""
    text: Text = Field(default="", description="Part of the job's name, who did it, why, or where.")
    cursor: Text = Field(default="", description="`next` of the page before.")
    limit: Limit = 100


@router.get("/scaling", response_model=ScalingLogOut)
def list_scaling(here: Here, which: Annotated[Which, Query()]) -> ScalingLogOut:
    """List who changed which job's workers, newest first.

    A page may be short, or empty, though there are older ones: so much is looked at for a page and no more.
    """
    before = number_in(which.cursor)
    return here.store.read(lambda tx: _Log(tx, which, before).page())


class _Log:
    """One look."""

    def __init__(self, tx: Tx, which: Which, before: int | None) -> None:
        self._tx, self._which = tx, which
        self._job = id_of(tx, which.job)
        self._text = folded(which.text)
        self._names: dict[str, str] = {}
        self._read_to = before
        """Everything from here on was looked at."""

    def page(self) -> ScalingLogOut:
        items: list[ScalingOut] = []
        for event in self._events():
            row = self._row(event) if self._is_meant(event) else None
            if row is not None:
                items.append(row)
            if len(items) == self._which.limit:
                return ScalingLogOut(items=items, next=cursor_of(event.id))
        return ScalingLogOut(items=items, next=None if self._read_to is None else cursor_of(self._read_to))

    def _events(self) -> Iterator[Event]:
        """Events that may be changes, newest first, as many as are looked at."""
        seen = 0
        while seen < MOST:
            pages = [self._older(kind) for kind in KINDS]
            # Below the oldest of a full page there may be others of its kind that were not read yet.
            floor = max((page[0].id for page in pages if len(page) == AT_ONCE), default=None)
            found = [event for page in pages for event in page if floor is None or event.id >= floor]
            seen += len(found)
            self._read_to = floor
            yield from sorted(found, key=lambda event: -event.id)
            if floor is None:
                return

    def _older(self, kind: str) -> list[Event]:
        return self._tx.events(
            EventQuery(job=self._job, kind=kind, before=self._read_to, limit=AT_ONCE, last=True)
        )

    def _is_meant(self, event: Event) -> bool:
        by = self._which.by
        return is_change(event) and (not by or cause_of(event) is By(by))

    def _row(self, event: Event) -> ScalingOut | None:
        held = ""
        if event.kind == PHASE:
            following = self._tx.events(EventQuery(job=event.job, kind=SCALED, after=event.id, limit=1))
            if following and following[0].at == event.at:
                return None  # which tells the same better
            last = self._tx.events(
                EventQuery(job=event.job, kind=SCALED, before=event.id, limit=1, last=True)
            )
            held = last[0].after if last else ""
        row = row_of(event, self._name(event.job), held)
        return row if not self._text or has_text(row, self._text) else None

    def _name(self, job: str) -> str:
        if job not in self._names:
            record = self._tx.job(job)
            self._names[job] = "" if record is None else record.spec.name
        return self._names[job]
