"""A job's logs as a file, piece by piece: nothing but one of them is in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from tenuto.client.asynchronous import AsyncClient
from tenuto.wire.worker import WorkerId

PIECE = 1 << 20


async def whole_log(ask: AsyncClient, job: str, workers: Iterable[WorkerId]) -> AsyncIterator[bytes]:
    """What these workers printed until now, one after the other; with headings, if there are several."""
    chosen = list(workers)
    for place, worker in enumerate(chosen):
        if len(chosen) > 1:
            yield ("\n" * (place > 0) + f"==> {worker} <==\n").encode()
        async for text in _pieces(ask, job, worker):
            yield text.encode()


async def _pieces(ask: AsyncClient, job: str, worker: WorkerId) -> AsyncIterator[str]:
    which = {"role": worker.role, "rank": worker.rank, "generation": worker.generation}
    end = max((part.next for part in (await ask.log_parts(job, **which, tail=0)).parts), default=0)
    offset = 0
    while offset < end:
        parts = (await ask.log_parts(job, **which, offset=offset or None, limit=PIECE)).parts
        if not parts or parts[0].next <= offset:
            return
        yield parts[0].text
        offset = parts[0].next
