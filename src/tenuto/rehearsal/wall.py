"""Plays a trace in wall time on a platform that runs: real processes stand in for the workers.

The jobs are found again by a label that no other rehearsal has, and whatever ends this one early cancels what is left
of them. Nothing else on the platform is touched.
"""

from __future__ import annotations

import inspect
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tenuto.client.plain import PlainClient
from tenuto.errors import Conflict
from tenuto.rehearsal import stand_in
from tenuto.rehearsal.evidence import Evidence, Json, evidence_of, seconds
from tenuto.rehearsal.score import LABEL, Score
from tenuto.settings import Scheduling

Tell = Callable[[int, int], None]
"""Told now and then how many of all jobs have ended."""
MINE = "rehearsal"
"""The label whose value no other rehearsal has."""
_PAGE = 500
_LOOK = 0.5
"""Seconds between two looks at how far the jobs are."""
_ENDED = frozenset({"succeeded", "failed", "cancelled", "lost", "declined"})
_OVER = _ENDED | {"unschedulable"}


@dataclass(frozen=True, slots=True)
class Cast:
    """Who stands in for the workers."""

    python: str
    """A Python of the nodes."""
    directory: str
    """Where the stand-ins keep how far they are; every node must see it."""
    scheduling: Scheduling
    """What the platform reckons for starts and rescales: the stand-ins take so long."""

    def form(self, score: Score, row: int) -> dict[str, Any]:
        """A job as it is submitted."""
        return score.form(
            row,
            (self.python, "-c", inspect.getsource(stand_in)),
            params={
                "steps": float(score.workload.trace.steps[row]),
                "curve": {str(size): rate for size, rate in score.curve(row).items()},
                "start_cost": self.scheduling.start_cost,
                "rescale_cost": self.scheduling.rescale_cost,
            },
            checkpoint={"dir": self.directory},
            grace=10.0,
        )


class Performance:
    """One trace on one platform, once."""

    def __init__(self, client: PlainClient, score: Score, cast: Cast) -> None:
        self._client, self._score, self._cast = client, score, cast
        self._mark = secrets.token_hex(4)
        self._ids: list[str] = []
        self._since = 0.0
        """Unix seconds, by the platform's clock, at which the trace began."""

    def play(self, tell: Tell = lambda _done, _all: None) -> list[Evidence]:
        """Submit every job when its time has come, wait for all ends, and gather what is recorded."""
        begun = time.monotonic()
        for row, due in enumerate(self._score.workload.trace.submitted.tolist()):
            self._wait(begun + due, tell)
            self._submit(row, due)
        while len(over := self._over()) < len(self._score):
            tell(len(over), len(self._score))
            time.sleep(_LOOK)
        names = self._score.workload.trace.ids
        return [
            evidence_of(self._client, name, over[job], self._since)
            for name, job in zip(names, self._ids, strict=True)
        ]

    def cancel(self) -> int:
        """End what has not ended; tells how many that were."""
        left = [job["id"] for job in self._jobs() if job["state"] not in _ENDED]
        for job in left:
            try:
                self._client.act(job, "cancel")
            except Conflict:
                continue  # it has ended meanwhile
        return len(left)

    def _wait(self, until: float, tell: Tell) -> None:
        while (left := until - time.monotonic()) > 0:
            if left > 2 * _LOOK and self._ids:
                tell(len(self._over()), len(self._score))
            time.sleep(max(min(until - time.monotonic(), _LOOK), 0.0))

    def _submit(self, row: int, due: float) -> None:
        form = self._cast.form(self._score, row)
        form["labels"] = {LABEL: self._score.label, MINE: self._mark}
        made = self._client.submit(form)
        if not self._ids:
            self._since = seconds(made["submitted_at"]) - due
        self._ids.append(made["id"])

    def _over(self) -> dict[str, Json]:
        """The jobs with which nothing more will happen, by id."""
        return {job["id"]: job for job in self._jobs() if job["state"] in _OVER}

    def _jobs(self) -> Iterator[Json]:
        cursor = ""
        while cursor is not None:
            page = self._client.jobs(label=[f"{MINE}={self._mark}"], cursor=cursor, limit=_PAGE)
            yield from page["items"]
            cursor = page["next"]


def others(client: PlainClient) -> Sequence[str]:
    """The states of the jobs that live on a platform before a rehearsal, with their numbers."""
    jobs = client.cluster()["jobs"]
    return [f"{count} {state}" for state, count in jobs.items() if count and state not in _ENDED]
