"""Brings records of workers to the server: each once, in their order, from where the server has them.

The server says which `seq` it wants next. Whichever side was killed or forgot something, the stream goes on where it
must; what is lost for good (the spool was full, the server was away for days) is passed over, and said so.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from tenuto.engines.supervisor.parts import CHUNK, Parts
from tenuto.engines.supervisor.server import Away, Refused, Server
from tenuto.engines.supervisor.shim.files import parse_json
from tenuto.wire.untrusted_files import UntrustedDirectory
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
_MOST_LOOKS = 16
"""Chunks without a single record that are looked at before it is the next one's turn."""
NEVER_WANTED = (400, 413, 422)
"""Answers after which a piece is left out at once: what it contains cannot be taken."""
NOT_ALLOWED = (401, 403)
"""Answers about the sender, not about what was sent: a token may have been exchanged."""
MOST_REFUSALS = 8
"""Other refusals and failures of the server, each with a longer pause, after which one record or piece is left out."""
_MOST_SEQ = 1 << 53


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

    def __init__(self, worker: WorkerId, teller: str, directory: UntrustedDirectory) -> None:
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
        self._refusals = 0
        """How often in a row the server has not taken what comes next."""

    @property
    def problem(self) -> str:
        """What is wrong with the files that records are read from."""
        return self._parts.problem

    def advance(self, server: Server, *, ended: bool) -> bool:
        """Bring over some batches; False if there is nothing more to bring now. `ended`: nothing will be added."""
        for _ in range(_TURN):
            batch, more = self._next()
            if batch is None:
                self.done = ended and not more
                return more
            self._send(server, batch)
            if self.done:
                return False
        return True

    def _next(self) -> tuple[Batch | None, bool]:
        """The next records that the server lacks, and whether there may be more."""
        for _ in range(_MOST_LOOKS):
            begin, data = self._parts.read(self._at)
            whole = data[: data.rfind(b"\n") + 1]
            if not whole:
                following = begin + CHUNK if len(data) == CHUNK else self._parts.after(begin)
                if not data or following is None:
                    return None, False
                self._at = following  # behind a line that has no end, or is longer than any record
                continue
            batch, read = _batch(whole, begin, self._wanted, self._most)
            if batch is not None:
                return batch, True
            self._at = begin + read
        return None, True

    def _send(self, server: Server, batch: Batch) -> None:
        skip = self._asked and batch.first > self._wanted
        try:
            wanted = server.post_records(self._worker, self._teller, batch.first, batch.lines, skip=skip)
        except Refused as refusal:
            self._heed(server, batch, refusal)
            return
        except Away as failure:
            if failure.status == 500:
                self._refuse(batch, failure)
            raise
        self._at, self._wanted, self._asked, self._most = batch.end, wanted, True, MOST
        self._refusals = 0
        self._parts.drop_before(self._at)

    def _heed(self, server: Server, batch: Batch, refusal: Refused) -> None:
        if refusal.status == 404 or refusal.why.code == NOT_YOURS:
            self.done = True  # the job was deleted, or this worker was never ordered here
        elif refusal.why.code == GAP:
            self._wanted = server.post_records(self._worker, self._teller, 0, (), skip=False)
            self._at, self._asked = 0, True
        elif refusal.status in NEVER_WANTED:
            self._leave_out(batch, refusal)
        elif refusal.status in NOT_ALLOWED:
            raise Away(str(refusal), refusal.status) from None
        else:
            self._refuse(batch, refusal)
            raise Away(str(refusal), refusal.status) from None

    def _refuse(self, batch: Batch, why: Exception) -> None:
        """Count a refusal that may pass; leave the record out if it does not."""
        self._refusals += 1
        if self._refusals >= MOST_REFUSALS:
            self._leave_out(batch, why)

    def _leave_out(self, batch: Batch, why: Exception) -> None:
        """Send records one by one to find the one that cannot be taken; pass over that one."""
        if len(batch.lines) > 1:
            self._most = 1
            return
        log.warning(
            "record %d of %s is left out, because the server refuses it: %s", batch.first, self._worker, why
        )
        self._at, self._refusals = batch.end, 0


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
    record = parse_json(line)
    seq = record.get("seq") if isinstance(record, dict) else None
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and 0 <= seq < _MOST_SEQ else None
