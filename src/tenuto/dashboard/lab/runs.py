"""Runs of the laboratory that were begun on the page: each in a directory and, while it works, a process of its own.

Nothing is replayed in the server. A run is checked first, by a short errand of the laboratory, and refused as a
whole if anything is wrong; then it waits in line, and one runs at a time, behind everybody else in the line for a
processor. It goes on when the page is closed, and ends with the server, however that ends. What it has finished
stays: one that was stopped can go on.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenuto.dashboard.lab.process import Process, ended, last_words, lines_of, started
from tenuto.dashboard.lab.record import Run, State, found_runs, write_run
from tenuto.errors import Busy, Conflict, InputInvalid, NotFound, Told
from tenuto.lab.orders import INPUTS, FigureOrder, ReplayOrder, write_order

log = logging.getLogger(__name__)

MOST_KEPT = 30
MOST_WAITING = 8

Fill = Callable[[Path], Awaitable[None]]
"""Puts what an order needs into the directory of its inputs."""


class Refused(Told):
    """The laboratory found something wrong; its own words say what to do."""

    code = InputInvalid.code
    http_status = InputInvalid.http_status


class LabRuns:
    """All runs. Belongs to the server's loop."""

    def __init__(self, directory: Path, clock: Callable[[], float] = time.time) -> None:
        self._directory = directory
        self._clock = clock
        self._runs = {run.id: run for run in found_runs(directory)}
        self._ears: dict[Callable[[], None], None] = {}
        self._checking = asyncio.Lock()
        self._working: asyncio.Task[None] | None = None
        self._process: Process | None = None

    def listen(self, ear: Callable[[], None]) -> Callable[[], None]:
        """Call somebody whenever a run is not as it was; returns what ends it."""
        self._ears[ear] = None
        return lambda: self._ears.pop(ear, None)

    def all(self) -> list[Run]:
        """Every run, newest first."""
        return sorted(self._runs.values(), key=lambda run: run.id, reverse=True)

    def get(self, run: str) -> Run:
        """One of them."""
        if run not in self._runs:
            raise NotFound("there is no such run", remedy="The page of the laboratory lists them")
        return self._runs[run]

    def directory(self, run: str) -> Path:
        """Where its files lie."""
        return self._directory / self.get(run).id

    async def begin(
        self, order: ReplayOrder | FigureOrder, user: str, fill: Fill, *, title: str, rules: str = ""
    ) -> Run:
        """Check an order and put it in line; if it is refused, nothing stays behind."""
        self._room()
        now = self._clock()
        name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        figure = order.figure if isinstance(order, FigureOrder) else ""
        directory = self._directory / name
        try:
            await asyncio.to_thread(_lay_out, directory, order)
            await fill(directory / INPUTS)
            ready = await self._check(directory)
            self._room()
        except BaseException:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
            raise
        run = Run(id=name, title=title, figure=figure, user=user, created=now, rules=rules)
        await self._keep(replace(run, cells=ready.get("cells", 0), remarks=tuple(ready.get("remarks", ()))))
        await self._forget_old()
        self._work()
        return self._runs[name]

    async def cancel(self, run: str) -> None:
        """Stop it; what it has finished stays."""
        known = self.get(run)
        if not known.state.live:
            raise Conflict("it has ended already")
        await self._keep(replace(known, state=State.CANCELLED, ended=self._clock(), doing=""))
        if known.state is State.RUNNING and self._process is not None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def go_on(self, run: str) -> None:
        """Put one that did not come to its end in line once more; what is finished is not run again."""
        known = self.get(run)
        if known.state.live or known.state is State.DONE:
            raise Conflict("there is nothing left to do")
        self._room()
        await self._keep(replace(known, state=State.WAITING, ended=None, trouble="", part=0.0))
        self._work()

    async def remove(self, run: str) -> None:
        """Forget one that has ended, with all its files."""
        if self.get(run).state.live:
            raise Conflict("it is still at work", remedy="Cancel it first")
        await self._drop(run)
        self._tell()

    async def close(self) -> None:
        """End what is at work; its cells that are finished stay."""
        if self._working is not None:
            self._working.cancel()
            with suppress(asyncio.CancelledError):
                await self._working

    def _room(self) -> None:
        if sum(run.state.live for run in self._runs.values()) > MOST_WAITING:
            raise Busy("too many runs wait already", remedy="Wait until some have ended, or cancel some")

    async def _check(self, directory: Path) -> dict[str, Any]:
        """Let the laboratory look at everything; raises what it finds wrong."""
        told: dict[str, Any] = {}
        async with self._checking:
            process = await started("check", directory)
            try:
                async for line in lines_of(process):
                    told |= line
            finally:
                await ended(process)
        if "ready" not in told:
            raise Refused(str(told.get("trouble") or await asyncio.to_thread(last_words, directory)))
        return told

    def _work(self) -> None:
        """See to it that what waits is run."""
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._run_all())

    async def _run_all(self) -> None:
        while waiting := [run for run in self._runs.values() if run.state is State.WAITING]:
            first = min(waiting, key=lambda run: run.id)
            try:
                await self._run(first)
            except Exception as error:
                log.exception("a run of the laboratory could not be watched")
                await self._end(first.id, State.FAILED, str(error))

    async def _run(self, run: Run) -> None:
        directory, trouble = self._directory / run.id, ""
        await self._keep(replace(run, state=State.RUNNING, started=self._clock(), doing="starting"))
        process = self._process = await started("run", directory)
        try:
            if self._runs[run.id].state is not State.RUNNING:  # it was cancelled in the meantime
                return
            async for line in lines_of(process):
                trouble = line.get("trouble", trouble)
                self._progress(run.id, line)
            code = await process.wait()
        finally:
            self._process = None
            await ended(process)
        if code == 0:
            await self._end(run.id, State.DONE, "")
        else:
            await self._end(run.id, State.FAILED, trouble or await asyncio.to_thread(last_words, directory))

    def _progress(self, run: str, line: dict[str, Any]) -> None:
        known = self._runs[run]
        if known.state is not State.RUNNING or "part" not in line:
            return
        self._runs[run] = replace(
            known, part=line["part"], finished=line["ended"], cells=line["cells"], doing=line["doing"]
        )
        self._tell()

    async def _end(self, run: str, state: State, trouble: str) -> None:
        known = self._runs.get(run)
        if known is None or not known.state.live:  # it was cancelled, or is gone
            return
        part = 1.0 if state is State.DONE else known.part
        await self._keep(
            replace(known, state=state, trouble=trouble, part=part, doing="", ended=self._clock())
        )

    async def _keep(self, run: Run) -> None:
        """Remember a run as it is now, also beyond this server."""
        self._runs[run.id] = run
        await asyncio.to_thread(write_run, self._directory / run.id, run)
        self._tell()

    async def _forget_old(self) -> None:
        ended = [run.id for run in self.all() if not run.state.live]
        for run in ended[max(MOST_KEPT - (len(self._runs) - len(ended)), 0) :]:
            await self._drop(run)

    async def _drop(self, run: str) -> None:
        del self._runs[run]
        await asyncio.to_thread(shutil.rmtree, self._directory / run, ignore_errors=True)

    def _tell(self) -> None:
        for ear in tuple(self._ears):
            ear()


def _lay_out(directory: Path, order: ReplayOrder | FigureOrder) -> None:
    (directory / INPUTS).mkdir(parents=True)
    write_order(order, directory)
