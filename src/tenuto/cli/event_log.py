"""Writes what happens to jobs and nodes into the server's log: who did what, and when, as the store's events tell."""

from __future__ import annotations

import logging
import math
from threading import Event as Flag
from threading import Thread

from tenuto.model.event import Event
from tenuto.server.guests import Guests
from tenuto.store.base import EventQuery, Store, StoreUnavailable, Tx

log = logging.getLogger("tenuto.events")

_REST = 0.5
"""Seconds between two looks, so that a burst of commits is read at once."""
_LONG = 30.0
"""Seconds after which it looks even if no bell has rung."""
_PAGE = 500


class EventLog:
    """A thread of its own, so that no round and no request waits for a disk."""

    def __init__(self, store: Store, guests: Guests) -> None:
        self._store = store
        self._guests = guests
        self._bell, self._enough = Flag(), Flag()
        self._thread = Thread(target=self._run, name="event log", daemon=True)
        newest = store.read(lambda tx: tx.events(EventQuery(limit=1, last=True)))
        self._known = newest[-1].id if newest else 0

    @property
    def written(self) -> float:
        """The id of the last event that stands in the log; infinite if none is to be written."""
        return self._known if log.isEnabledFor(logging.INFO) else math.inf

    def start(self) -> None:
        """Write down what happens from the beginning of this server on."""
        self._thread.start()

    def stop(self) -> None:
        """Write down the rest, and no more."""
        self._enough.set()
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(_REST * 4)

    def _run(self) -> None:
        end_listening = self._store.listen(lambda _: self._bell.set())
        while not self._enough.is_set():
            self._bell.wait(_LONG)
            self._bell.clear()
            self._write_down()
            self._guests.look_around()
            self._enough.wait(_REST)
        self._write_down()
        end_listening()

    def _write_down(self) -> None:
        if not log.isEnabledFor(logging.INFO):
            return
        try:
            while events := self._store.read(self._next):
                for event in events:
                    tell(event)
                self._known = events[-1].id
        except StoreUnavailable as trouble:
            log.warning("%s", trouble)
        except Exception:
            log.exception("this is a fault of tenuto; what happened stands in the store all the same")

    def _next(self, tx: Tx) -> list[Event]:
        return tx.events(EventQuery(after=self._known, limit=_PAGE))


def tell(event: Event) -> None:
    """One line for one event."""
    change = " -> ".join(filter(None, (event.before, event.after)))
    words = " ".join(filter(None, (event.kind, str(event.data.get("name", "")), change)))
    message = f"{words}: {event.reason}" if event.reason else words
    log.info("%s", message, extra={"actor": event.actor, "job": event.job, "node": event.node})
