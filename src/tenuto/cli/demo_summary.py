"""How a demo went: what is told at the end, and whether it was as it should be. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tenuto.cli.humane import parsed, span

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tale:
    """What was seen."""

    jobs: Sequence[Json]
    """As they were at the end."""
    sizes: dict[str, list[int]]
    """By job, how many workers it had, one after the other."""
    killed: str
    """The name of the job that lost a worker; empty if none was killed."""
    lost: bool
    """Whether the platform noticed."""
    pinned: bool
    summaries: dict[str, str]
    """By job, what its training said of its samples."""

    @property
    def admitted(self) -> list[Json]:
        """Those that got a promise."""
        return [job for job in self.jobs if job["contract"] and job["contract"]["reply"] == "admitted"]

    @property
    def declined(self) -> list[Json]:
        """Those that got an offer instead."""
        return [job for job in self.jobs if job["state"] == "declined"]


def kept(job: Json) -> bool:
    """Whether it is done, and in time."""
    return bool(job["state"] == "succeeded" and job["promise"]["state"] == "kept")


def problems(tale: Tale) -> list[str]:
    """What went otherwise than it should; nothing if all is well."""
    found = [
        f"{job['name']} has not kept its promise: {_fate(job)}" for job in tale.admitted if not kept(job)
    ]
    if len(tale.admitted) < 3:
        found.append(f"only {len(tale.admitted)} jobs got a promise")
    if not any(job["contract"]["offers"]["earliest"] for job in tale.declined):
        found.append("no job was declined with an offer")
    if not any(later > before for before, later in _changes(tale)):
        found.append("no job grew")
    if not any(later < before for before, later in _changes(tale)):
        found.append("no job shrank")
    if not tale.killed:
        found.append("no worker was killed")
    elif not tale.lost:
        found.append(f"nobody noticed that {tale.killed} lost a worker")
    if not tale.pinned:
        found.append("no job was pinned")
    return found


def lines(tale: Tale) -> list[str]:
    """The end of the demo, in words; moments are the server's."""
    told = [f"Promises kept: {sum(map(kept, tale.admitted))} of {len(tale.admitted)}."]
    told += [f"  {_row(job, tale)}" for job in tale.admitted]
    for job in tale.declined:
        told.append(
            f"Declined with an offer: {job['name']}, which could have {job['contract']['offers']['earliest']}."
        )
    if tale.killed:
        told.append(f"Killed in the middle: a worker of {tale.killed}, which went on without it.")
    told.append("What the trainings say of their samples:")
    told += [f"  {name:8} {sentence}" for name, sentence in tale.summaries.items()]
    return told


def _row(job: Json, tale: Tale) -> str:
    sizes = " → ".join(map(str, tale.sizes.get(job["name"], [])))
    return f"{job['name']:8} {_fate(job):36} workers {sizes}"


def _fate(job: Json) -> str:
    if not kept(job) or job["ended_at"] is None:
        return f"{job['state']}, promise {job['promise']['state']}"
    spare = (parsed(job["contract"]["promised"]) - parsed(job["ended_at"])).total_seconds()
    return f"done {span(spare)} before its promise"


def _changes(tale: Tale) -> list[tuple[int, int]]:
    """Of workers, from one size to the next; the start and the end are none."""
    return [pair for sizes in tale.sizes.values() for pair in pairwise(sizes)]
