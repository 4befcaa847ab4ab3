"""The InfluxDB that settings name, with jobs called as people call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.settings import Influx
from tenuto.store.base import Store, StoreUnavailable

if TYPE_CHECKING:
    from tenuto.monitor.influx.pusher import Pusher

_MOST_NAMES = 10_000


def influx_of(settings: Influx, store: Store) -> Pusher | None:
    """What brings numbers to the database; None if none is named."""
    if not settings.url:
        return None
    from tenuto.monitor.influx.address import address_of  # httpx, for those who need it
    from tenuto.monitor.influx.pusher import Pusher

    return Pusher(address_of(settings), settings.buffer, JobNames(store))


class JobNames:
    """The names of jobs, asked for once each. For one thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, str] = {}

    def __call__(self, job: str) -> str:
        """The name of a job; empty if nobody knows it."""
        if job not in self._known:
            try:
                found = self._store.read(lambda tx: tx.job(job))
            except StoreUnavailable:
                return ""
            if found is None:
                return ""
            if len(self._known) >= _MOST_NAMES:
                self._known.pop(next(iter(self._known)))
            self._known[job] = found.spec.name
        return self._known[job]
