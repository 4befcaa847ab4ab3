"""The cluster as a map of nodes and slots, one colour for each job. Pure: an answer as the browser draws it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tenuto.dashboard.charts import colour_of
from tenuto.dashboard.wording import job_path
from tenuto.wire.overview import MapJobOut, MapOut

NOBODY = -1
ONLINE = "online"
IN_DANGER = ("at_risk", "broken")


@dataclass(frozen=True, slots=True)
class SlotUse:
    """The slots of the whole cluster."""

    used: int
    free: int
    """Nobody is on them, and somebody may be."""
    unusable: int
    """Nobody is on them, and their nodes are away or being drained."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.used + self.free + self.unusable


def use_of(told: MapOut) -> SlotUse:
    """Count slots."""
    used = free = unusable = 0
    for state, slots in zip(told.states, told.slots, strict=True):
        nobody = slots.count(NOBODY)
        used += len(slots) - nobody
        if state == ONLINE:
            free += nobody
        else:
            unusable += nobody
    return SlotUse(used, free, unusable)


def picture(told: MapOut) -> Mapping[str, Any]:
    """What `assets/slot_map.js` draws: columns, so that thousands of slots are a small message."""
    return {
        "nodes": told.nodes,
        "states": told.states,
        "slots": told.slots,
        "jobs": [[job.id, job.name, _state(job), colour_of(job.id)] for job in told.jobs],
    }


def _state(job: MapJobOut) -> str:
    return f"{job.state}, promise {job.promise.replace('_', ' ')}" if job.promise in IN_DANGER else job.state


@dataclass(frozen=True, slots=True)
class Holder:
    """A job in the legend of the map."""

    name: str
    path: str
    colour: str
    slots: int


def largest(told: MapOut, most: int) -> list[Holder]:
    """The jobs with the most slots, for the legend."""
    counts = Counter(place for slots in told.slots for place in slots if place != NOBODY)
    return [
        Holder(told.jobs[place].name, job_path(told.jobs[place].id), colour_of(told.jobs[place].id), number)
        for place, number in counts.most_common(most)
    ]
