"""The program around it: keys, news, signals and the clock change what is shown, until somebody leaves."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING

from tenuto.cli.humane import span
from tenuto.cli.top.header import Heading
from tenuto.cli.top.keys import KeyReader, Terminal
from tenuto.cli.top.layout import Frame, Size, frame_of, query_of
from tenuto.cli.top.model import Seen, State, pressed, settled
from tenuto.cli.top.screen import Screen
from tenuto.cli.top.watch import Watcher, Wish

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient

_TICK = 1.0
"""Seconds after which the clock on the screen goes on."""
_ESCAPE = 0.05
"""Seconds after which an Esc is no beginning of another key."""
_SILENT = 5.0
"""Seconds without an answer, besides three intervals, after which that is said."""
_ENDS = (signal.SIGTERM, signal.SIGHUP)


def show(client: PlainClient, state: State, interval: float, terminal: Terminal) -> None:
    """Show the cluster until somebody leaves."""
    client.patience = 0.0
    with _woken() as wakes, terminal, suppress(KeyboardInterrupt):
        watcher = Watcher(client, interval, wakes.ring)
        viewer = _Viewer(terminal, watcher, client.address[0], interval)
        try:
            with _signals(wakes, terminal, viewer):
                viewer.run(state, wakes)
        finally:
            watcher.stop()


class _Wakes:
    """A pipe, so that whoever waits for keys hears of other things too."""

    def __init__(self) -> None:
        self.reads, self.writes = os.pipe()
        os.set_blocking(self.writes, False)
        os.set_blocking(self.reads, False)

    def ring(self) -> None:
        """There is something new."""
        with suppress(BlockingIOError, OSError):  # it has been rung often enough, or nobody listens any more
            os.write(self.writes, b"!")

    def heard(self) -> None:
        """Hear it, however often it was rung."""
        with suppress(BlockingIOError):
            while os.read(self.reads, 4096):
                pass


@contextmanager
def _woken() -> Iterator[_Wakes]:
    wakes = _Wakes()
    try:
        yield wakes
    finally:
        os.close(wakes.reads)
        os.close(wakes.writes)


class _Viewer:
    """Somebody who looks."""

    def __init__(self, terminal: Terminal, watcher: Watcher, server: str, interval: float) -> None:
        self._terminal = terminal
        self._watcher = watcher
        self._server = server
        self._silent = 3 * interval + _SILENT
        self._keys = KeyReader()
        self._seen = Seen()
        self.screen = Screen(terminal)

    def run(self, state: State, wakes: _Wakes) -> None:
        """Draw, wait, and go on with what has come."""
        state, frame = self._framed(state)
        self._watcher.want(self._wish(state))
        self._watcher.start()
        while not state.over:
            self.screen.draw(frame.lines, self._terminal.size[0])
            pause = _ESCAPE if self._keys.waits else _TICK
            ready, _, _ = select.select([self._terminal.reads, wakes.reads], [], [], pause)
            wakes.heard()
            for key in self._pressed(ready):
                state, frame = self._framed(pressed(state, key, frame.around))
            self._take(state)
            state, frame = self._framed(state)
            self._watcher.want(self._wish(state))

    def _pressed(self, ready: list[int]) -> list[str]:
        if self._terminal.reads not in ready:
            return self._keys.flush() if self._keys.waits and not ready else []
        data = self._terminal.read()
        return self._keys.feed(data) if data else ["ctrl-c"]

    def _take(self, state: State) -> None:
        """Have the news; a picture that is held changes only if something else is to be seen."""
        news = self._watcher.news
        another = (news.query, news.target) != (self._seen.query, self._seen.target)
        if not state.paused or another or self._seen.overview is None:
            self._seen = news

    def _framed(self, state: State) -> tuple[State, Frame]:
        """The screen for a state, and the state with its row on the screen: the list may have become shorter."""
        size, heading = Size(*self._terminal.size), Heading(self._server, datetime.now().astimezone())
        seen, silent = self._seen, monotonic() - self._watcher.heard_at
        if silent > self._silent and not seen.problem:
            seen = replace(seen, problem=f"The server has not answered for {span(silent)}; waiting for it.")
        frame = frame_of(state, seen, size, heading)
        if state.target is None and not state.helped and seen.overview is not None:
            state = settled(state, frame.around)
            frame = frame_of(state, seen, size, heading)
        return state, frame

    def _wish(self, state: State) -> Wish:
        return Wish(query_of(state, Size(*self._terminal.size)), state.target)


@contextmanager
def _signals(wakes: _Wakes, terminal: Terminal, viewer: _Viewer) -> Iterator[None]:
    """Other sizes are seen at once, Ctrl-Z gives the terminal back for a while, and an end leaves it in order."""

    def end(number: int, _: FrameType | None) -> None:
        raise SystemExit(128 + number)

    def rest(_: int, __: FrameType | None) -> None:
        terminal.leave()
        os.kill(os.getpid(), signal.SIGSTOP)
        terminal.enter()
        viewer.screen.forget()

    handlers = dict.fromkeys(_ENDS, end) | {signal.SIGTSTP: rest, signal.SIGWINCH: lambda *_: None}
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    woken = signal.set_wakeup_fd(wakes.writes, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(woken)
        for number, handler in before.items():
            signal.signal(number, handler)
