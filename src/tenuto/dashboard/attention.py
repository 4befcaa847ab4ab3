"""Which jobs need somebody, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tenuto.dashboard.wording import moment
from tenuto.wire.overview import JobRow
from tenuto.wire.replies import JobOut

MOST = 8


@dataclass(frozen=True, slots=True)
class Concern:
    """A job that somebody should look at."""

    id: str
    name: str
    why: str
    """HTML, without a value of anybody's own."""
    tone: str
    """`bad` or `warn`."""


def concerns(rows: Iterable[JobRow], failed: Iterable[JobOut], since: str) -> list[Concern]:
    """Jobs that live, the gravest first as the server sorts them, then those that failed since then."""
    found = {row.id: concern for row in rows if (concern := _of_row(row)) is not None}
    for job in failed:
        if job.ended_at is not None and job.ended_at >= since and job.id not in found:
            found[job.id] = Concern(job.id, job.name, f"{job.state} {moment(job.ended_at, ago=True)}", "bad")
    return list(found.values())[:MOST]


def _of_row(row: JobRow) -> Concern | None:
    if row.promise == "broken":
        return Concern(row.id, row.name, f"promise broken, it was {moment(row.promised)}", "bad")
    if row.promise == "at_risk":
        late = f"expected {moment(row.eta, none='later')}, promised {moment(row.promised)}"
        return Concern(row.id, row.name, f"promise at risk: {late}", "warn")
    if row.idle_since is not None:
        return Concern(row.id, row.name, f"uses none of its GPUs, since {moment(row.idle_since)}", "warn")
    if row.state == "unschedulable":
        return Concern(row.id, row.name, "does not fit the cluster as it is", "warn")
    if row.state in ("failed", "lost"):
        return Concern(row.id, row.name, f"{row.state} just now", "bad")
    return None
