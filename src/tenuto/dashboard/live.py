"""Keeping an open page up to date: its parts are drawn again when something happened that they show.

Drawing is pushed to the browser; a part that would be drawn too often waits, and draws once for all that came. The
more pages are open the longer that is, so that they leave the processor to those who decide; and a page that nobody
sees, in a tab behind others, is drawn when it is seen again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nicegui import Client, background_tasks, ui

from tenuto.dashboard.news import News
from tenuto.errors import TenutoError
from tenuto.model.event import Event

log = logging.getLogger(__name__)
CROWD = 0.03
"""Seconds that each open page adds to the time between two drawings of a part."""
_LONG = 60.0
Draw = Callable[[], Awaitable[None]]


@dataclass
class _Part:
    draw: Draw
    wants: Callable[[Event], bool]
    node: str | None
    least: float
    every: float | None
    last: float = 0.0
    """When it was drawn, by the loop's clock."""
    stale: bool = False
    wished: bool = False
    """The visitor waits for it."""


def everything(_: Event) -> bool:
    """Any event."""
    return True


def nothing(_: Event) -> bool:
    """No event."""
    return False


def about_job(job: str) -> Callable[[Event], bool]:
    """Events of one job."""
    return lambda event: event.job == job


class Live:
    """The parts of one page. Made while the page is built; ends with it."""

    def __init__(self, news: News) -> None:
        self._news = news
        self._client: Client = ui.context.client
        self._is_seen = True
        ui.on("visibility", lambda event: self._turned_to(bool(event.args)))
        self._parts: list[_Part] = []
        self._woken = asyncio.Event()
        # From now on: what happens before the browser is connected shall not be missed.
        self._ends = [news.listen(self._heard), news.listen_to_samples(self._sampled)]
        self._client.on_connect(self._connected)
        self._client.on_delete(self._end)
        self._task: asyncio.Task[None] | None = None

    def part(
        self,
        draw: Draw,
        *,
        wants: Callable[[Event], bool] = everything,
        node: str | None = None,
        least: float = 0.5,
        every: float | None = None,
    ) -> Callable[[], None]:
        """Draw again at events that it wants, at samples of `node` (`*` for any), and after `every` seconds.

        Not more often than every `least` seconds. The first drawing is the page's own. What is returned has the part
        drawn again soon, for reasons of the page's own.
        """
        made = _Part(draw, wants, node, least, every)
        self._parts.append(made)
        return lambda: self._stir(made)

    def redraw(self) -> None:
        """Draw everything soon, because the visitor did something."""
        for part in self._parts:
            self._stir(part)

    def _stir(self, part: _Part) -> None:
        part.stale = part.wished = True
        self._woken.set()

    def _turned_to(self, seen: bool) -> None:
        self._is_seen = seen
        self._woken.set()

    def _connected(self) -> None:
        if self._task is None:
            self._task = background_tasks.create(self._draw_on(), name="page")
        else:
            self.redraw()  # it was cut off for a moment, and may have missed something

    def _end(self) -> None:
        for end in self._ends:
            end()
        if self._task is not None:
            self._task.cancel()

    def _heard(self, events: Sequence[Event]) -> None:
        for part in self._parts:
            if not part.stale and any(map(part.wants, events)):
                part.stale = True
                self._woken.set()

    def _sampled(self, node: str) -> None:
        for part in self._parts:
            if part.node in ("*", node):
                part.stale = True
                self._woken.set()

    async def _draw_on(self) -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        for part in self._parts:
            part.last = begun
        while True:
            now = loop.time()
            for part in self._parts:
                if part.every is not None and now >= part.last + part.every:
                    part.stale = True
                if part.stale and now >= self._due(part) and self._has_spectator:
                    part.stale, part.wished, part.last = False, False, now
                    await self._draw(part)
            self._woken.clear()
            await self._wait(loop)

    @property
    def _has_spectator(self) -> bool:
        return self._is_seen and self._client.has_socket_connection

    def _due(self, part: _Part) -> float:
        """When a part that is stale may be drawn."""
        crowd = 0.0 if part.wished else self._news.listeners * CROWD
        return part.last + max(part.least, crowd)

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        """Until something happened, or until a part is due."""
        now = loop.time()
        ahead = [self._due(part) for part in self._parts if part.stale]
        ahead += [part.last + part.every for part in self._parts if part.every is not None]
        pause = min(ahead, default=now + _LONG) - now if self._has_spectator else _LONG
        try:
            async with asyncio.timeout(max(pause, 0.05)):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _draw(self, part: _Part) -> None:
        try:
            with self._client:
                await part.draw()
        except TenutoError as error:
            log.info("a part of a page could not be drawn: %s", error)
        except Exception:
            log.exception("a part of a page could not be drawn; the next change tries again")
