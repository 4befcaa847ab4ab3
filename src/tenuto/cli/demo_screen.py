"""What one sees of `tenuto demo`: a live table on a terminal, plain lines where there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol

from rich.console import Group
from rich.live import Live
from rich.text import Text

from tenuto.cli.console import Console
from tenuto.cli.humane import parsed, relative
from tenuto.cli.printing import console, table_of

Json = dict[str, Any]
COLUMNS = ("job", "state", "workers", "done", "promised", "promise")
_KEPT_LINES = 12


class Screen(Protocol):
    """Where the demo is told."""

    def say(self, line: str) -> None:
        """Something happened."""

    def show(self, jobs: Sequence[Json]) -> None:
        """The jobs as they are now."""


@contextmanager
def screen() -> Iterator[Screen]:
    """What suits standard output."""
    out = console()
    if not out.is_terminal:
        yield PlainScreen(out)
        return
    with Live(console=out, refresh_per_second=4) as live:
        yield LiveScreen(live)


class LiveScreen:
    """A table that changes in place, and the last lines below it."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._lines: list[str] = []
        self._jobs: Sequence[Json] = ()

    def say(self, line: str) -> None:
        """Something happened."""
        self._lines.append(line)
        self._draw()

    def show(self, jobs: Sequence[Json]) -> None:
        """The jobs as they are now."""
        self._jobs = jobs
        self._draw()

    def _draw(self) -> None:
        table = table_of(COLUMNS, [row(job, datetime.now().astimezone()) for job in self._jobs])
        below = Text("\n".join(self._lines[-_KEPT_LINES:]))
        self._live.update(Group(table, Text(), below) if self._jobs else below)


class PlainScreen:
    """A line whenever something has changed that is worth one."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._told: dict[str, tuple[str, int]] = {}

    def say(self, line: str) -> None:
        """Something happened."""
        self._out.print(line, markup=False, soft_wrap=True)

    def show(self, jobs: Sequence[Json]) -> None:
        """The jobs as they are now."""
        for job in jobs:
            standing = (job["state"], job["workers"])
            if self._told.get(job["id"]) != standing:
                self._told[job["id"]] = standing
                self.say("  " + "  ".join(cell for cell in row(job, datetime.now().astimezone()) if cell))


def row(job: Json, now: datetime) -> tuple[str, ...]:
    """One job in a line."""
    contract, progress = job["contract"] or {}, job["progress"]
    promised = contract.get("promised")
    return (
        job["name"],
        job["state"],
        "■" * job["workers"],
        f"{100 * progress['done'] / progress['total']:.0f} %"
        if progress["total"] and progress["done"]
        else "",
        relative(parsed(promised), now) if promised and job["ended_at"] is None else "",
        job["promise"]["state"] if promised else "",
    )
