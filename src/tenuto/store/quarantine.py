"""Records that cannot be read: left where they are, passed over by every query, and named in an event once.

A record may have been written by another version, or be damaged on disk. The row stays, so nothing is lost that a later
version or a person could still read; a job or a node can be removed by its name. What was found is kept in memory, so
that later queries leave those rows out, and in `meta`, so that a restart does not report them again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from pydantic import ValidationError

from tenuto.model.event import Event
from tenuto.store.base import Tx

log = logging.getLogger(__name__)

EVENT_KIND = "unreadable"
META_KEY = "unreadable"
"""Under this name `meta` has what was reported, with the Unix seconds of the report."""
ACTOR = "store"
MAX_REPORTED = 1000
"""Records for which there is an event; further ones are in the server's log only."""
MAX_EXCLUDED = 5000
"""Rows of a table that queries leave out; further ones make pages shorter."""
_LONGEST_PROBLEM = 200


@dataclass(frozen=True, slots=True)
class UnreadableRecord:
    """A row whose record cannot be read."""

    table: str
    """`jobs`, `attempts`, `nodes`, `events` or `meta`."""
    key: str
    """The job's id, the node's name, the event's number …"""
    problem: str
    """What the reader says."""
    number: int = 0
    """The row's number, by which queries of jobs and events leave it out."""
    job: str = ""
    node: str = ""

    @property
    def name(self) -> str:
        """Different for each row of the store."""
        return f"{self.table}/{self.key}"


class Quarantine:
    """What one open store has found. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, UnreadableRecord] = {}
        self._excluded: dict[str, frozenset[int]] = {}
        self._news: list[UnreadableRecord] = []

    @property
    def has_news(self) -> bool:
        """Whether something was found that `take_news` has not given yet."""
        return bool(self._news)

    def excluded(self, table: str) -> frozenset[int]:
        """The numbers of rows that queries of a table leave out."""
        return self._excluded.get(table, frozenset())

    def add(self, record: UnreadableRecord) -> None:
        """Remember a row, and have it reported if it is new."""
        with self._lock:
            if record.name in self._known:
                return
            self._known[record.name] = record
            self._news.append(record)
            excluded = self.excluded(record.table)
            if record.number and len(excluded) < MAX_EXCLUDED:
                self._excluded[record.table] = excluded | {record.number}
        log.error("the record %s cannot be read and is passed over: %s", record.name, record.problem)

    def has(self, table: str, key: str) -> bool:
        """Whether a row was found to be unreadable."""
        return f"{table}/{key}" in self._known

    def discard(self, table: str, key: str) -> None:
        """Let queries have a row again: it was written anew, or removed."""
        with self._lock:
            record = self._known.pop(f"{table}/{key}", None)
            if record is not None:
                self._excluded[table] = self.excluded(table) - {record.number}

    def take_news(self) -> list[UnreadableRecord]:
        """What is to be reported; each is given once."""
        with self._lock:
            news, self._news = self._news, []
            return news


def report(tx: Tx, found: Iterable[UnreadableRecord], at: float | None = None) -> None:
    """Add an event for each record that none was added for before."""
    now = time.time() if at is None else at
    reported: dict[str, Any] = dict(tx.meta(META_KEY) or {})
    for record in found:
        name = _clean(record.name)
        if name in reported or len(reported) >= MAX_REPORTED:
            continue
        reported[name] = now
        problem = _clean(record.problem)
        tx.add_event(
            Event(
                kind=EVENT_KIND,
                at=now,
                actor=ACTOR,
                job=_clean(record.job),
                node=_clean(record.node),
                reason=f"the record {name} cannot be read and is passed over: {problem}",
                data={"table": record.table, "key": _clean(record.key), "problem": problem},
            )
        )
    tx.set_meta(META_KEY, reported or None)


def forget(tx: Tx, table: str, key: str) -> None:
    """A record was removed or written anew: another one of this name would be reported again."""
    reported: dict[str, Any] = dict(tx.meta(META_KEY) or {})
    if reported.pop(_clean(f"{table}/{key}"), None) is not None:
        tx.set_meta(META_KEY, reported or None)


def problem_in(error: Exception) -> str:
    """What a reader says about a record, in one short line, without anything that the record holds."""
    if not isinstance(error, ValidationError):
        return type(error).__name__
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"][1:])
    return _clean(f"{place}: {first['msg']}" if place else first["msg"])[:_LONGEST_PROBLEM]


def _clean(text: str) -> str:
    """Text that every store takes, whatever a damaged row holds."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")
