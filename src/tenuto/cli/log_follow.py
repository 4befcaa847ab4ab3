"""Reading logs through the API: pieces by their offsets, one generation after the other, to the job's end.

Workers of a job that rescales in place outlive generations: they are all read at once (generation None).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tenuto.cli.log_view import LogView
from tenuto.cli.printing import say
from tenuto.model.job import IN_PLACE
from tenuto.model.phase import ENDED

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

LOOK_EVERY = 0.25
LINGER = 5.0
"""Seconds without a byte after which a lost node's last words are not waited for any more."""
PIECE = 1 << 20
"""Bytes that are asked for at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Whose logs are meant."""

    role: str | None = None
    rank: int | None = None
    generation: int | None = None
    """All, if not said."""
    tail: int | None = None
    """Only so many lines of each worker's end."""


@dataclass(slots=True)
class LogReader:
    """Copies logs to a view; knows how far it is with each worker."""

    client: PlainClient
    job: str
    """Its id."""
    view: LogView
    which: Which = field(default_factory=Which)
    by_birth: bool = False
    """Whether workers of several generations may be there at once."""
    _next: dict[tuple[int, str, int], int] = field(default_factory=dict)
    _done: set[tuple[int, str, int]] = field(default_factory=set)

    def read(self, generation: int | None, *, tail: int | None = None) -> int:
        """Copy what one generation has printed since the last time; returns how many bytes that was."""
        query = {"role": self.which.role, "rank": self.which.rank, "generation": generation}
        if tail is not None:
            return sum(self._take(part) for part in self._parts({**query, "tail": tail, "limit": PIECE}))
        # One question tells how far all workers are; only those that went on are asked for more.
        return sum(self._read_on(part) for part in self._parts({**query, "tail": 0}))

    def read_to_end(self, generation: int | None) -> None:
        """Copy the rest of a generation whose workers have gone; what their nodes still hold back is waited for."""
        silent_since = time.monotonic()
        while self._is_open(generation) and time.monotonic() - silent_since < LINGER:
            if self.read(generation):
                silent_since = time.monotonic()
            elif self._is_open(generation):
                time.sleep(LOOK_EVERY)

    def _is_open(self, generation: int | None) -> bool:
        return any(generation in (None, key[0]) and key not in self._done for key in self._next)

    def _parts(self, query: Json) -> list[Json]:
        parts: list[Json] = self.client.logs(self.job, **query)["parts"]
        self.view.expect([self._name(part) for part in parts])
        for part in parts:
            self._next.setdefault(_key(part), 0)
        return parts

    def _read_on(self, worker: Json) -> int:
        """Copy everything of one worker that has not been copied."""
        key, copied = _key(worker), 0
        generation, role, rank = key
        while key not in self._done and (self._next[key] < worker["next"] or worker["ended"]):
            found = self.client.logs(
                self.job, role=role, rank=rank, generation=generation, offset=self._next[key], limit=PIECE
            )["parts"]
            if not found:
                break
            taken = self._take(found[0])
            copied += taken
            if not taken:
                break
        return copied

    def _take(self, part: Json) -> int:
        key, name = _key(part), self._name(part)
        if part["offset"] == part.get("first", 0) > self._next[key]:
            say(f"{part['offset'] - self._next[key]:,} bytes of {name} were removed to make room (retention)")
        self.view.write(name, part["text"])
        taken = part["next"] - max(part["offset"], self._next[key])
        self._next[key] = part["next"]
        if part["ended"]:
            self._done.add(key)
            self.view.finish(name)
        return int(taken)

    def _name(self, part: Json) -> str:
        """How a worker is called before its lines; by its birth, where workers of many births are read at once."""
        number = f"{part['generation']}.{part['rank']}" if self.by_birth else part["rank"]
        return f"{part['role']}/{number}"


def _key(part: Json) -> tuple[int, str, int]:
    return part["generation"], part["role"], part["rank"]


def rescales_in_place(job: Json) -> bool:
    """Whether workers of many births train together."""
    return job["spec"].get("strategy") in IN_PLACE


def print_logs(reader: LogReader, job: Json) -> None:
    """Copy what there is."""
    which = reader.which
    if which.generation is not None or rescales_in_place(job):
        reader.read(which.generation, tail=which.tail)
    elif which.tail is not None:
        reader.read(job["generation"], tail=which.tail)
    else:
        for generation in range(1, job["generation"] + 1):
            reader.read(generation)
    reader.view.finish_all()


def follow_logs(
    reader: LogReader, job: Json, *, begin: int, changed: Callable[[Json], None] = lambda _: None
) -> Json:
    """Copy what there is and what comes, until the job has ended; returns the job as it ended.

    `changed` is told whenever the job goes to another state but its last, or gets another answer.
    """
    all_at_once = rescales_in_place(job) and reader.which.generation is None
    generation = None if all_at_once else begin
    tail, told = reader.which.tail, _standing(job)
    while True:
        copied = reader.read(generation, tail=tail) if generation != 0 else 0
        tail = None if generation != 0 else tail
        later = generation is not None and job["generation"] > generation
        ended = job["state"] in ENDED
        if later or ended:
            reader.read_to_end(generation)
        if later and generation is not None and reader.which.generation is None:
            generation += 1
            continue
        if later or ended:
            break
        if not copied:
            time.sleep(LOOK_EVERY)
        job = reader.client.job(job["id"])
        if _standing(job) != told and job["state"] not in ENDED:
            told = _standing(job)
            changed(job)
    reader.view.finish_all()
    return job


def _standing(job: Json) -> tuple[str, str]:
    return job["state"], job["contract"]["reply"] if job["contract"] else ""
