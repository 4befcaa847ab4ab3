"""Reads what a job's workers print, where it was left, through the API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.job.printed import MOST_LINES, Printed
from tenuto.dashboard.wording import worker_name
from tenuto.wire.printed import LogPart
from tenuto.wire.worker import WorkerId

AT_ONCE = 256 << 10
"""Bytes of one worker that are read at a time; one that prints faster than that is not read whole."""
TAIL = 128 << 10
"""Bytes of one worker's end to begin with."""
ALL_TAILS = 1 << 20
"""Bytes of all of them together."""


@dataclass
class LogReader:
    """How far each worker's log was read. `only` is the worker that is meant; None for all."""

    ask: AsyncClient
    job: str
    only: WorkerId | None = None
    printed: Printed = field(default_factory=Printed)
    _next: dict[WorkerId, int] = field(default_factory=dict)

    async def begin(self, workers: int) -> None:
        """Read the ends of the logs; so many workers are expected."""
        share = max(min(TAIL, ALL_TAILS // max(workers, 1)), 1024)
        lines = MOST_LINES if self.only else max(MOST_LINES // max(workers, 1), 50)
        told = await self.ask.log_parts(self.job, **_query(self.only), tail=lines, limit=share)
        self.printed.named = len(told.parts) > 1
        for part in told.parts:
            if part.offset == part.first > 0:
                self.printed.leave_out(worker_name(part.worker), "what stood here is no longer kept")
            self._take(part)

    async def read(self, workers: Iterable[WorkerId]) -> None:
        """Read on in the logs of workers that have printed something."""
        for worker in workers:
            if self.only not in (None, worker):
                continue
            self.printed.named |= bool(self._next.keys() - {worker})
            await self._read_on(worker)

    async def _read_on(self, worker: WorkerId) -> None:
        offset = self._next.get(worker, 0)
        told = await self.ask.log_parts(self.job, **_query(worker), offset=offset or None, limit=AT_ONCE)
        for part in told.parts:
            if part.offset > offset:
                self.printed.leave_out(worker_name(str(worker)), "what stood here is no longer kept")
            self._take(part)
            if part.next - part.offset > AT_ONCE - 8:
                await self._skip_to_end(worker, part.next)

    async def _skip_to_end(self, worker: WorkerId, upto: int) -> None:
        """A worker that prints very much is shown from its end on."""
        told = await self.ask.log_parts(self.job, **_query(worker), tail=MOST_LINES // 2, limit=TAIL)
        for part in told.parts:
            if part.offset <= upto:
                await self._read_on(worker)
                continue
            left_out = f"{part.offset - upto:,} bytes are left out; the download has them"
            self.printed.leave_out(worker_name(str(worker)), left_out)
            self._take(part)

    def _take(self, part: LogPart) -> None:
        worker = WorkerId.parse(part.worker)
        self._next[worker] = part.next
        self.printed.add(worker_name(str(worker)), part.text)
        if part.ended:
            self.printed.end(worker_name(str(worker)))


def _query(worker: WorkerId | None) -> dict[str, str | int]:
    if worker is None:
        return {}
    return {"role": worker.role, "rank": worker.rank, "generation": worker.generation}
