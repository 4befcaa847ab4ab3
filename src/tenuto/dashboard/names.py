"""The names of jobs of which only the id is known, asked for once and kept for all pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from tenuto.errors import TenutoError
from tenuto.wire.replies import JobOut

MOST = 5000
"""Names that are kept."""


class Asks(Protocol):
    """Who can be asked about a job."""

    async def job(self, job: str) -> JobOut:
        """A job as it is now."""
        ...


class JobNames:
    """Belongs to one loop. A job that was renamed keeps its old name here until it is forgotten."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def learn(self, names: Mapping[str, str]) -> None:
        """Somebody knows these already."""
        self._known.update(names)
        while len(self._known) > MOST:
            del self._known[next(iter(self._known))]

    async def of(self, ask: Asks, ids: Iterable[str]) -> Mapping[str, str]:
        """The names of these jobs; of a job that is gone, its id."""
        for id_ in set(ids) - self._known.keys():
            try:
                self.learn({id_: (await ask.job(id_)).name})
            except TenutoError:
                self.learn({id_: id_})
        return self._known
