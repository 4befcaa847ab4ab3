"""What the platform has recorded about a job that was played on it: its walk, its starts, and what went wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from tenuto.client.plain import PlainClient
from tenuto.rehearsal.walk import SCALED, Change, Walk

Json = Mapping[str, Any]
_PAGE = 500
_FINE = (0, 143)
"""Exit codes of stand-ins: done, or told to stop."""
_REFUSED = ("declined", "unschedulable")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One job as it was on the platform, in the platform's seconds since the beginning."""

    walk: Walk
    starts: Sequence[float] = ()
    """For each time it got slots: seconds until the last of its processes was there."""
    noticed: float = 0.0
    """Seconds from the end of its last process until the platform said so."""
    lost: Sequence[str] = ()
    """Workers that ended by themselves otherwise than they should, and how."""
    state: str = ""
    message: str = ""

    def in_trace_time(self, speedup: float) -> Evidence:
        """With its walk in the seconds of the trace; what the machine took stays in its own."""
        return replace(self, walk=self.walk.in_trace_time(speedup))


def evidence_of(client: PlainClient, name: str, job: Json, since: float) -> Evidence:
    """Gather what is known about an ended job."""
    scaled = [event for event in _events(client, job["id"]) if event["kind"] == SCALED]
    attempts = list(_attempts(client, job["id"]))
    begun, ended = _starts(scaled, attempts), [at for one in attempts if (at := seconds(one["ended_at"]))]
    end = seconds(job["ended_at"])
    return Evidence(
        walk=_walk(name, job, scaled, since),
        starts=begun,
        noticed=end - max(ended) if end and ended else 0.0,
        lost=[_loss(one) for one in attempts if _went_wrong(one)],
        state=job["state"],
        message=job["message"],
    )


def seconds(moment: str | None) -> float:
    """Unix seconds of a moment as the API writes it; 0 for none."""
    return datetime.fromisoformat(moment).timestamp() if moment else 0.0


def _walk(name: str, job: Json, scaled: Sequence[Json], since: float) -> Walk:
    contract = job["contract"] or {}
    refused = job["state"] in _REFUSED

    def after(moment: str | None) -> float | None:
        return seconds(moment) - since if moment else None

    return Walk(
        job=name,
        submitted=seconds(job["submitted_at"]) - since,
        admitted=not refused,
        why=contract.get("why", "") if refused else "",
        promised=after(contract.get("promised")),
        started=after(job["started_at"]),
        finished=after(job["ended_at"]) if job["state"] == "succeeded" else None,
        changes=tuple(
            Change(seconds(event["at"]) - since, int(event["data"]["workers"])) for event in scaled
        ),
    )


def _starts(scaled: Sequence[Json], attempts: Sequence[Json]) -> list[float]:
    """Seconds from each decision until the last process of its generation was there."""
    there: dict[int, float] = defaultdict(float)
    for one in attempts:
        there[one["generation"]] = max(there[one["generation"]], seconds(one["started_at"]))
    decided = {
        event["data"]["generation"]: seconds(event["at"]) for event in scaled if event["data"]["workers"]
    }
    return [there[number] - at for number, at in decided.items() if there.get(number)]


def _went_wrong(attempt: Json) -> bool:
    """Whether a worker ended by itself otherwise than stand-ins do; who was never started was not needed any more."""
    ended = attempt["started_at"] is not None and attempt["ended_at"] is not None
    return ended and attempt["exit_code"] not in _FINE


def _loss(attempt: Json) -> str:
    how = attempt["message"] or attempt["reason"] or f"exit code {attempt['exit_code']}"
    return f"worker {attempt['rank']} of generation {attempt['generation']} on {attempt['node']}: {how}"


def _events(client: PlainClient, job: str) -> Iterator[Json]:
    after = 0
    while True:
        page = client.events(job=job, after=after, limit=_PAGE)
        yield from page["items"]
        if page["next"] is None:
            return
        after = int(page["next"])


def _attempts(client: PlainClient, job: str) -> Iterator[Json]:
    cursor = ""
    while True:
        page = client.attempts(job, cursor=cursor, limit=_PAGE)
        yield from page["items"]
        if (cursor := page["next"]) is None:
            return
