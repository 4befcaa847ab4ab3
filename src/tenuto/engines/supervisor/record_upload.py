"""Brings records of workers to the server: each once, in their order, from where the server has them.

The server says which `seq` it wants next. Whichever side was killed or forgot something, the stream goes on where it
must; what is lost for good (the spool was full, the server was away for days) is passed over, and said so.
"""

from __future__ import annotations

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from tenuto.engines.supervisor.parts import CHUNK, Parts
from tenuto.engines.supervisor.server import Away, Refused, Server
from tenuto.wire.worker import WorkerId

log = logging.getLogger(__name__)
MOST = 300
"""Records of one request; a chunk of a spool has more only if they are small."""
GAP = "gap"
"""The code with which a server refuses records that come too early."""
NOT_YOURS = "not_your_worker"
"""The code with which a server refuses what concerns a worker that was never ordered on this node."""
_TURN = 4
"""Batches of one stream before it is the next one's turn."""
_NEVER_WANTED = (413, 422)


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that follow upon each other, as they were written."""

    lines: tuple[bytes, ...]
    first: int
    """The `seq` of the first."""
    end: int
    """The offset behind the last one in the spool."""


class RecordUpload:
    """One stream of records about one worker."""

    def __init__(self, worker: WorkerId, teller: str, directory: Path) -> None:
        self.done = False
        self._worker = worker
        self._teller = teller
        self._parts = Parts(directory)
        self._at = 0
        """The offset in the spool behind what the server has."""
        self._wanted = 0
        self._asked = False
        """Whether the server itself has said what it wants: else a gap may be our ignorance."""
        self._most = MOST

    def advance(self, server: Server, *, ended: bool) -> bool:
        """Bring over some batches; False if there is nothing more to bring now. `ended`: nothing will be added."""
        for _ in range(_TURN):
            batch = self._next()
            if batch is None:
                self.done = ended
                return False
            self._send(server, batch)
            if self.done:
                return False
        return True

    def _next(self) -> Batch | None:
        """The next records that the server lacks."""
        while True:
            begin, data = self._parts.read(self._at)
            whole = data[: data.rfind(b"\n") + 1]
            if not whole:
                following = begin + CHUNK if len(data) == CHUNK else self._parts.after(begin)
                if not data or following is None:
                    return None
                self._at = following  # behind a line that has no end, or is longer than any record
                continue
            batch, read = _batch(whole, begin, self._wanted, self._most)
            if batch is not None:
                return batch
            self._at = begin + read

    def _send(self, server: Server, batch: Batch) -> None:
        skip = self._asked and batch.first > self._wanted
        try:
            wanted = server.post_records(self._worker, self._teller, batch.first, batch.lines, skip=skip)
        except Refused as refusal:
            self._heed(server, batch, refusal)
            return
        self._at, self._wanted, self._asked, self._most = batch.end, wanted, True, MOST
        self._parts.drop_before(self._at)

    def _heed(self, server: Server, batch: Batch, refusal: Refused) -> None:
        if refusal.status == 404 or refusal.why.code == NOT_YOURS:
            self.done = True  # the job was deleted, or this worker was never ordered here
        elif refusal.why.code == GAP:
            self._wanted = server.post_records(self._worker, self._teller, 0, (), skip=False)
            self._at, self._asked = 0, True
        elif refusal.status in _NEVER_WANTED and len(batch.lines) > 1:
            self._most = 1  # to find out which one is the matter
        elif refusal.status in _NEVER_WANTED:
            log.warning("record %d of %s is not wanted: %s", batch.first, self._worker, refusal)
            self._at = batch.end
        else:
            raise Away(str(refusal)) from None


def _batch(whole: bytes, begin: int, wanted: int, most: int) -> tuple[Batch | None, int]:
    """The first records from `wanted` on among whole lines, and how many bytes were looked at."""
    lines: list[bytes] = []
    first = position = 0
    for line in whole.splitlines(keepends=True):
        seq = _seq_of(line)
        if seq is not None and seq >= wanted:
            if lines and (seq != first + len(lines) or len(lines) == most):
                break
            first = first if lines else seq
            lines.append(line.strip())
        elif seq is None and lines:
            break
        position += len(line)
    batch = Batch(tuple(lines), first, begin + position) if lines else None
    return batch, position


def _seq_of(line: bytes) -> int | None:
    """The number of a record; None for half a line, or whatever else a program wrote there."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    seq = record.get("seq") if isinstance(record, dict) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and seq >= 0 else None
