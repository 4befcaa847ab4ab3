"""Brings lines to the database. Whoever has something to tell leaves it here and goes on at once.

Two threads: one writes lines, so that it is never a caller who does, and one posts them, which may take as long as
the database likes. What lies between them is bounded twice; when there is no more room, the oldest goes.
"""

from __future__ import annotations

import logging
import random
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from tenuto.model.series import NODE, Points
from tenuto.monitor.facts import Pushing
from tenuto.monitor.influx.address import Address
from tenuto.monitor.influx.answers import Answer, Verdict
from tenuto.monitor.influx.buffer import Batch, Buffer
from tenuto.monitor.influx.lines import Naming, lines_of_points, lines_of_samples
from tenuto.monitor.influx.post import Post
from tenuto.monitor.influx.remarks import Remarks
from tenuto.wire.sample import NodeSample

log = logging.getLogger("tenuto.influx")

Unwritten: TypeAlias = Callable[[], Iterator[str]]
_UNWRITTEN = 4_000
"""Uploads that wait to be written as lines; they are written in a moment, unless the machine is at its end."""
_AT_ONCE = 1_000
"""Lines that go into the buffer at a time: they are made before, so that nobody waits for the buffer meanwhile."""
_SEARCH = 64
"""Requests that are spent on finding bad lines in one batch; what is not found by then goes with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often the database is asked."""

    every: float = 1.0
    """Seconds between two posts while all is well."""
    first: float = 1.0
    """Seconds until the first attempt after one that failed; each further one takes twice as long."""
    most: float = 60.0
    """Seconds between two attempts at most."""
    farewell: float = 3.0
    """Seconds that the end may take."""


class Pusher:
    """Everything that is told here reaches the database, as long as it fits into the buffer."""

    def __init__(self, address: Address, most: int, name_of: Naming, pace: Pace | None = None) -> None:
        """`most`: bytes that may wait for the database."""
        self._pace = pace or Pace()
        self._name_of = name_of
        self._buffer = Buffer(most)
        self._post = Post(address)
        self._remarks = Remarks(address)
        self._unwritten: deque[Unwritten] = deque(maxlen=_UNWRITTEN)
        self._bell, self._all_told, self._ending = threading.Event(), threading.Event(), threading.Event()
        self._written = self._refused = self._unheard = self._failures = self._in_a_row = 0
        self._under_way: Batch | None = None
        self._writer = threading.Thread(target=self._write, name="influx lines", daemon=True)
        self._sender = threading.Thread(target=self._send, name="influx", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._writer.start()
        self._sender.start()

    def take_samples(self, node: str, samples: Sequence[NodeSample]) -> None:
        """Have new samples of a node."""
        self._leave(lambda: lines_of_samples(node, samples))

    def take_points(self, batch: Sequence[Points]) -> None:
        """Have new points of jobs and of the cluster; those of nodes come as samples, which tell more."""
        told = [points for points in batch if points.subject.kind != NODE]
        if told:
            self._leave(lambda: lines_of_points(told, self._name_of))

    def stop(self) -> None:
        """Post what there is, in a few seconds at most, and end."""
        self._all_told.set()
        self._bell.set()
        for thread in (self._writer, self._sender):
            if thread.is_alive():
                thread.join(self._pace.farewell)
            self._ending.set()
        under_way = self._under_way
        self._remarks.left(self._buffer.lines + (under_way.lines if under_way else 0))

    @property
    def health(self) -> Pushing:
        """How it goes. A point is a line."""
        return Pushing(
            written=self._written,
            dropped=self._refused + self._unheard + self._buffer.dropped,
            buffered=self._buffer.held,
            failures=self._failures,
            trouble=self._remarks.trouble,
        )

    # the writer

    def _leave(self, unwritten: Unwritten) -> None:
        self._unheard += len(self._unwritten) == _UNWRITTEN
        self._unwritten.append(unwritten)
        self._bell.set()

    def _write(self) -> None:
        while not self._all_told.is_set():
            self._bell.wait()
            self._bell.clear()
            self._write_all()
        self._write_all()

    def _write_all(self) -> None:
        while self._unwritten:
            try:
                lines = self._unwritten.popleft()()
                while some := list(islice(lines, _AT_ONCE)):
                    self._buffer.add(some)
            except Exception:
                log.exception("this is a fault of tenuto; some numbers do not reach InfluxDB")
            self._remarks.full(self._buffer.dropped + self._unheard)

    # the sender

    def _send(self) -> None:
        wait = self._pace.every
        while not self._ending.wait(wait):
            wait = self._send_all()
        self._send_all()
        self._post.close()

    def _send_all(self) -> float:
        """Post everything there is; returns the seconds after which to come back."""
        try:
            while batch := self._buffer.take():
                self._under_way = batch
                verdict = self._sent(batch)
                self._under_way = None
                if verdict.answer in (Answer.LATER, Answer.CLOSED):
                    return self._patience(verdict)
                self._in_a_row = 0
                self._remarks.well()
            self._remarks.empty(self._buffer.dropped + self._unheard)
        except Exception:
            log.exception("this is a fault of tenuto; some numbers do not reach InfluxDB")
        return self._pace.every

    def _patience(self, verdict: Verdict) -> float:
        self._remarks.ill(verdict)
        self._in_a_row += 1
        growing = min(self._pace.first * 2.0 ** min(self._in_a_row - 1, 20), self._pace.most)
        return max(verdict.after or 0.0, growing * random.uniform(0.5, 1.0))  # noqa: S311 - no secret

    def _sent(self, batch: Batch) -> Verdict:
        """Post a batch; of one with bad lines, everything else, as far as they are found."""
        pieces, verdict = deque([batch]), Verdict(Answer.TAKEN)
        for _ in range(_SEARCH):
            if not pieces:
                break
            piece = pieces.popleft()
            verdict = self._asked(piece)
            if verdict.answer in (Answer.LATER, Answer.CLOSED):
                self._buffer.put_back(piece, *pieces)
                return verdict
            if verdict.answer is Answer.BAD and piece.lines > 1:
                pieces.extendleft(reversed(piece.halves()))
        if pieces:
            self._refused += sum(piece.lines for piece in pieces)
            self._remarks.refused(verdict.why)
        return verdict

    def _asked(self, piece: Batch) -> Verdict:
        """Post some lines once, and count what became of them."""
        verdict = self._post(piece)
        self._failures += verdict.answer is not Answer.TAKEN
        lost = min(verdict.lost, piece.lines)
        if verdict.answer is Answer.BAD and piece.lines == 1:
            lost = 1
        if lost:
            self._remarks.refused(verdict.why)
        if verdict.answer in (Answer.TAKEN, Answer.PARTLY):
            self._written += piece.lines - lost
        self._refused += lost
        return verdict
