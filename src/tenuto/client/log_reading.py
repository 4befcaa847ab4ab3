"""Logs as a client reads them: pieces by offset, then what the event stream brings; nothing twice, nothing left out.

The stream tells what comes from now on; what was printed before, or while nobody listened, is read by its offset.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenuto.client.ask import Give, Line, Pause, Play, asked
from tenuto.client.calls import Asks
from tenuto.client.stream import LOGS, OPEN, Frame, Subscription, followed
from tenuto.model.phase import ENDED

PIECE = 1 << 20
LOOK_EVERY = 0.25
LINGER = 5.0
"""Seconds without a byte after which a lost node's last words are not waited for any more."""
_ASKS = Asks()
_NAMES = ("worker", "role", "rank", "generation", "offset", "next", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Whose logs are meant; the newest generation's, if none is named."""

    role: str = ""
    rank: int | None = None
    generation: int | None = None
    tail: int | None = None
    """Only so many lines of each worker's end, to begin with."""

    def query(self) -> dict[str, Any]:
        """As the endpoint takes it."""
        return {"role": self.role, "rank": self.rank, "generation": self.generation}

    def fits(self, piece: Mapping[str, Any]) -> bool:
        """Whether a worker is meant."""
        return (
            self.role in ("", piece["role"])
            and self.rank in (None, piece["rank"])
            and self.generation in (None, piece["generation"])
        )


class LogReading:
    """How far each worker's log was read. Gives pieces as JSON."""

    def __init__(self, line: Line, job: str, which: Which) -> None:
        self._line = line
        self._job = job
        self._which = which
        self._next: dict[str, int] = {}
        self._open: dict[str, Mapping[str, Any]] = {}
        """The workers that have not ended, as they were last told."""
        self._tail = which.tail

    def all(self) -> Play[None]:
        """Everything that there is now."""
        yield from self._catch_up()

    def follow(self) -> Play[None]:
        """Everything that there is and that comes, until the job has ended."""
        yield from followed(self._line, Subscription({"topics": "jobs,logs", "job": self._job}), self._heard)

    def _heard(self, frame: Frame) -> Play[bool]:
        """React to a message; tells whether it was the last one of interest."""
        told = frame.json()
        if frame.name == LOGS:
            yield from self._take(told)
            return False
        if frame.name == OPEN:
            self._job = told["job"]
            yield from self._catch_up()
            job = yield from asked(self._line, _ASKS.job(self._job))
            over = job["state"] in ENDED
        elif told["kind"] == "deleted":
            return True
        else:
            over = told["kind"] == "phase" and told["after"] in ENDED
        if over:
            yield from self._read_to_end()
        return over

    def _take(self, piece: Mapping[str, Any]) -> Play[None]:
        """A piece of the stream, if it follows upon what was read; else the log is read where it was left."""
        if not self._which.fits(piece):
            return
        known = self._next.get(piece["worker"], 0)
        if piece["offset"] == known:
            self._next[piece["worker"]] = piece["next"]
            self._open[piece["worker"]] = piece
            yield Give(piece)
        elif piece["next"] > known:
            yield from self._read_on(piece)

    def _catch_up(self) -> Play[int]:
        """Read everything that was not read yet; tells how many bytes that were."""
        tail, self._tail = self._tail, None
        taken, generations = 0, {worker["generation"] for worker in self._open.values()}
        for generation in [*sorted(generations - {self._which.generation}), self._which.generation]:
            query = {**self._which.query(), "generation": generation}
            told = yield from asked(self._line, _ASKS.logs(self._job, **query, tail=tail or 0, limit=PIECE))
            for part in told["parts"]:
                if tail is not None and part["worker"] not in self._next:
                    yield from self._give(part)
                self._open[part["worker"]] = part
                taken += yield from self._read_on(part)
        return taken

    def _read_on(self, worker: Mapping[str, Any]) -> Play[int]:
        """Everything of one worker that was not read yet."""
        taken: int = 0
        query = {name: worker[name] for name in ("role", "rank", "generation")}
        while True:
            offset = self._next.get(worker["worker"], 0)
            told = yield from asked(
                self._line, _ASKS.logs(self._job, **query, offset=offset or None, limit=PIECE)
            )
            if not told["parts"]:
                return taken
            part: dict[str, Any] = told["parts"][0]
            yield from self._give(part)
            taken += int(part["next"]) - offset
            if part["ended"]:
                self._open.pop(part["worker"], None)
            if not part["text"] or part["ended"]:
                return taken

    def _give(self, part: Mapping[str, Any]) -> Play[None]:
        self._next[part["worker"]] = part["next"]
        if part["text"]:
            yield Give({"job": self._job, **{name: part[name] for name in _NAMES}})

    def _read_to_end(self) -> Play[None]:
        """The rest, when the job has ended; what its nodes still hold back is waited for."""
        silent_since = time.monotonic()
        yield from self._catch_up()
        while self._open and time.monotonic() - silent_since < LINGER:
            yield Pause(LOOK_EVERY)
            if (yield from self._catch_up()):
                silent_since = time.monotonic()
