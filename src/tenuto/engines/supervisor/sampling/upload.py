"""Brings samples to the server and lets go of them when it has them for good. A thread of its own, which may wait.

A server that was started again may have lost what it had not written down. It can be told from the one before by its
having been greeted, so nothing counts as sent that was sent before a greeting, or while one was under way.
"""

from __future__ import annotations

import logging
import threading

from tenuto.engines.supervisor.link import Backoff
from tenuto.engines.supervisor.sampling.shelf import BATCH_BYTES, Batch, Shelf
from tenuto.engines.supervisor.server import Away, Refused, SayHello, Server, Superseded
from tenuto.wire.node import Hello

log = logging.getLogger(__name__)
_NEVER_WANTED = (413, 422)
LONGEST_PAUSE = 60.0
"""Seconds between two uploads, whatever a server asks for: the newest sample is what people see."""
NOT_WANTED = "the server did not want them"


class SampleUpload:
    """From the shelf to the server, again and again."""

    def __init__(self, server: Server, hello: Hello, shelf: Shelf) -> None:
        self._server = server
        self._hello = hello
        self._shelf = shelf
        self._every = 2.0
        self._again = 0.0
        """Seconds that a server with many nodes has asked for instead."""
        self._greeting = 0
        """The server's number; see `Server.greetings`."""
        self._most = BATCH_BYTES
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def pause(self) -> float:
        """Seconds between two uploads."""
        return max(self._every, self._again)

    def want(self, every: float) -> None:
        """Bring over what there is so often."""
        self._every = every
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="samples")
            self._thread.start()

    def end(self) -> None:
        """Bring over no more."""
        self._ended.set()

    def _run(self) -> None:
        backoff = Backoff(self._server, self._ended)
        while not self._ended.wait(self.pause):
            try:
                while not self._ended.is_set() and self._advance():
                    backoff.reset()
            except (Away, SayHello, Superseded, Refused):
                backoff.wait()  # the link complains, once, and says hello
            except Exception:
                log.exception("this is a fault of tenuto; the supervisor goes on")
                backoff.wait()

    def _advance(self) -> bool:
        """Bring over one batch; False if there is none."""
        greeting = self._server.greetings
        if greeting != self._greeting:
            self._shelf.send_again()
            self._greeting = greeting
        batch = self._shelf.batch(self._most)
        if batch is None:
            return False
        try:
            told = self._server.samples(self._hello, [one.line for one in batch.samples], batch.gaps)
        except Refused as refusal:
            self._heed(batch, refusal)
            return True
        if self._server.greetings == greeting:
            self._shelf.sent(batch, told.kept)
            self._again = min(told.again or 0.0, LONGEST_PAUSE)
            self._most = BATCH_BYTES
        return True

    def _heed(self, batch: Batch, refusal: Refused) -> None:
        if refusal.status not in _NEVER_WANTED:
            raise refusal
        if len(batch.samples) > 1:
            self._most = 1  # to find out which one is the matter
            return
        log.warning("a sample is not wanted: %s", refusal)
        self._shelf.pass_over(batch, NOT_WANTED)
