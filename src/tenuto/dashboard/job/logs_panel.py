"""What a job's workers print, as they print it: all or one of them, searched, followed, downloaded."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.job.log_reader import LogReader
from tenuto.dashboard.job.metrics_panel import newest_attempts
from tenuto.dashboard.wording import job_path, worker_name
from tenuto.wire.replies import AttemptOut, JobOut
from tenuto.wire.worker import WorkerId

ALL = ""
MOST_CHOICES = 200


class Logs:
    """Holds the last lines; hears which workers have printed more."""

    def __init__(self, ask: AsyncClient, job: JobOut, redraw: Callable[[], None]) -> None:
        self._ask = ask
        self._job = job
        self._redraw = redraw
        self._reader: LogReader | None = None
        self._waiting: dict[WorkerId, None] = {}
        """Who has printed something that was not read yet, in the order of that."""
        self._blocks: dict[int, ui.html] = {}
        self._upto = 0
        """Blocks before this one do not change any more."""
        with card():
            with ui.row().classes("w-full items-center gap-3"):
                self._which = ui.select(
                    {ALL: "all workers"}, value=ALL, label="Worker", on_change=self._begin_anew
                )
                self._which.props("dense outlined options-dense").classes("t-narrow")
                self._search = ui.input(placeholder="Search", on_change=self._searched).classes(
                    "t-narrow t-search"
                )
                self._search.props('dense outlined clearable debounce=300 aria-label="Search in the log"')
                self._follow = ui.switch("Follow", value=True, on_change=self._followed)
                ui.space()
                self._download = (
                    ui.element("a").classes("t-button").props('download aria-label="Download the log"')
                )
                with self._download:
                    ui.icon("download", size="18px").props("aria-hidden=true")
                    ui.label("Download")
            self._log = (
                ui.element("div")
                .classes("t-log t-follow w-full")
                .props('role=log tabindex=0 aria-label="Log"')
            )
            self._log.on("wheel", self._scrolled, ["deltaY"], throttle=0.5)
            with self._log:
                self._lines = ui.element("div")
                self._unfinished = ui.html(sanitize=False).classes("t-unfinished")
            self._note = ui.label().classes("t-muted")

    def heard(self, worker: WorkerId) -> None:
        """Somebody has printed something."""
        self._waiting[worker] = None

    async def draw(self, job: JobOut) -> None:
        """Read on, and show what is new."""
        self._job = job
        if self._reader is None:
            await self._begin()
        reader = self._reader
        waiting, self._waiting = list(self._waiting), {}
        if reader is None:
            return
        if waiting:
            named_before = reader.printed.named
            await reader.read(waiting)
            if reader.printed.named != named_before and reader is self._reader:
                self._rebuild()
            if any(str(worker) not in self._which.options for worker in waiting):
                await self._offer()
        if reader is self._reader:  # else the visitor has chosen another worker meanwhile
            self._show(reader)

    async def _begin(self) -> None:
        """Read the ends of the logs that are meant."""
        workers = await self._offer()
        chosen = str(self._which.value or ALL)
        reader = LogReader(self._ask, self._job.id, WorkerId.parse(chosen) if chosen else None)
        self._waiting = {}
        await reader.begin(workers)
        self._reader = reader
        self._rebuild()

    async def _offer(self) -> int:
        """Offer the workers that there were, newest first; tells how many are or were there at the last size."""
        attempts = await newest_attempts(self._ask, self._job.id)
        options = {ALL: "all workers"} | {
            one.worker: _choice(one) for one in attempts[: -MOST_CHOICES - 1 : -1]
        }
        if self._which.options != options:
            self._which.set_options(options, value=self._which.value)
        query = {"worker": self._which.value} if self._which.value else {}
        self._download.props["href"] = f"{job_path(self._job.id)}/log?{urlencode(query)}".rstrip("?")
        self._download.update()
        newest = max((one.generation for one in attempts), default=0)
        return sum(one.generation == newest or one.ended_at is None for one in attempts)

    def _show(self, reader: LogReader) -> None:
        printed, search = reader.printed, self._search.value or ""
        for block, html in printed.blocks(search, since=self._upto).items():
            if block not in self._blocks:
                with self._lines:
                    self._blocks[block] = ui.html(sanitize=False)
            self._blocks[block].set_content(html)
            self._blocks[block].set_visibility(bool(html))
        self._upto = printed.newest
        for block in [one for one in self._blocks if one < printed.oldest]:
            self._blocks.pop(block).delete()
        self._unfinished.set_content(printed.unfinished(search))
        self._note.set_text(_note(len(printed), bool(self._job.workers)))

    def _rebuild(self) -> None:
        self._lines.clear()
        self._blocks, self._upto = {}, 0
        if self._reader is not None:
            self._show(self._reader)

    def _begin_anew(self) -> None:
        self._reader = None
        self._redraw()

    def _searched(self) -> None:
        self._rebuild()

    def _followed(self) -> None:
        if self._follow.value:
            self._log.classes(add="t-follow")
        else:
            self._log.classes(remove="t-follow")

    def _scrolled(self, event: object) -> None:
        """Who looks back does not want to be taken to the end."""
        if getattr(event, "args", {}).get("deltaY", 0) < 0:
            self._follow.set_value(False)


def _choice(attempt: AttemptOut) -> str:
    """A worker among others: by its birth, where it is, and how it ended."""
    end = "" if attempt.ended_at is None else ", ended"
    if attempt.exit_code is not None:
        end = f", exit {attempt.exit_code}"
    return f"{worker_name(attempt.worker)} on {attempt.node}{end}"


def _note(lines: int, running: bool) -> str:
    if not lines:
        return "Nothing was printed yet." if running else "Nothing was printed, or the logs were deleted."
    return (
        f"{lines} lines; the last 1,000 are shown, the download has all."
        if lines >= 1000
        else f"{lines} lines."
    )
