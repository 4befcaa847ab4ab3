"""Which buttons of scaling can be pressed, and why not. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenuto.model.phase import ENDED, PLACED
from tenuto.wire.overview import MapOut
from tenuto.wire.replies import JobOut

FREE_NODES = 8
"""Nodes without a worker of the job that are listed; there may be thousands."""
_NOBODY = -1
_ONLINE = "online"


@dataclass(frozen=True, slots=True)
class Button:
    """Something that can be pressed, unless there is a reason against it."""

    why_not: str = ""

    @property
    def works(self) -> bool:
        """Whether it can be pressed."""
        return not self.why_not


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes that a job can be given."""

    least: int
    most: int
    size: int
    """From which a difference counts: the pinned one, else the one that it has."""
    standing: str
    """Who decides about the size."""
    fewer: Button
    more: Button
    slide: Button
    auto: Button

    @property
    def range(self) -> str:
        """All of them."""
        return f"only {self.least}" if self.least == self.most else f"{self.least} to {self.most}"


@dataclass(frozen=True, slots=True)
class NodeLine:
    """A node on which the job has workers, or could have."""

    node: str
    state: str
    workers: int
    """Of the job, now."""
    wanted: int
    """Of the job, as it is pinned; as it is now, if the pin names no nodes."""
    free: int
    slots: int
    fewer: Button
    more: Button


def sizes(job: JobOut) -> Sizes:
    """What can be done about a job's size as it is now."""
    fixed = _why_fixed(job)
    size = _present(job)
    absent = "" if _has_size(job) else "It has no workers now: choose a number."
    return Sizes(
        least=job.min_workers,
        most=job.max_workers,
        size=size,
        standing=_standing(job),
        fewer=Button(fixed or absent or _at_least(job, size)),
        more=Button(fixed or absent or _at_most(job, size)),
        slide=Button(fixed),
        auto=Button(_why_not_auto(job)),
    )


def node_lines(job: JobOut, found: MapOut, text: str = "") -> tuple[list[NodeLine], int]:
    """The nodes of a job, then others with a free slot in whose name a text stands; and how many more there are."""
    here = {name: len(numbers) for name, numbers in (job.slots or job.seats).items()}
    pinned = job.pin.nodes if job.pin is not None and job.pin.nodes else here
    mine: list[NodeLine] = []
    others: list[NodeLine] = []
    for name, state, slots in zip(found.nodes, found.states, found.slots, strict=True):
        free = slots.count(_NOBODY)
        if name in here or name in pinned:
            mine.append(_line(job, name, (state, slots), here, pinned))
        elif state == _ONLINE and free and text.casefold() in name.casefold():
            others.append(_line(job, name, (state, slots), here, pinned))
    return mine + others[:FREE_NODES], len(others[FREE_NODES:])


def _line(
    job: JobOut,
    name: str,
    node: tuple[str, Sequence[int]],
    here: Mapping[str, int],
    pinned: Mapping[str, int],
) -> NodeLine:
    state, slots = node
    workers, wanted = here.get(name, 0), pinned.get(name, 0)
    total = sum(pinned.values())
    fixed = _why_fixed(job)
    return NodeLine(
        node=name,
        state=state,
        workers=workers,
        wanted=wanted,
        free=slots.count(_NOBODY),
        slots=len(slots),
        fewer=Button(fixed or ("" if wanted else "It has no worker there.") or _at_least(job, total)),
        more=Button(fixed or _at_most(job, total) or _why_not_there(job, name, (state, slots), wanted)),
    )


def _why_not_there(job: JobOut, name: str, node: tuple[str, Sequence[int]], wanted: int) -> str:
    state, slots = node
    only = job.spec.get("node")
    if only and only != name:
        return f"It may run on {only} only."
    if state != _ONLINE:
        return f"The node is {state}."
    return "" if wanted < len(slots) else f"It has all {len(slots)} slots of the node."


def _why_fixed(job: JobOut) -> str:
    if job.state in ENDED:
        return "The job has ended."
    if job.wish == "cancel":
        return "The job is being cancelled."
    if job.spec.get("gpus") == 0:
        return "It asks for no GPU, and such jobs have a fixed size."
    return f"Its size is fixed at {job.min_workers}." if job.min_workers == job.max_workers else ""


def _why_not_auto(job: JobOut) -> str:
    if job.state in ENDED:
        return "The job has ended."
    return "" if job.pin is not None or job.shrunk else "The policy decides already."


def _has_size(job: JobOut) -> bool:
    return job.pin is not None or job.state in PLACED


def _present(job: JobOut) -> int:
    if job.pin is not None:
        return job.pin.workers
    return job.workers or job.min_workers


def _at_least(job: JobOut, size: int) -> str:
    return "" if size > job.min_workers else f"It needs {job.min_workers} at least."


def _at_most(job: JobOut, size: int) -> str:
    return "" if size < job.max_workers else f"It can have {job.max_workers} at most."


def _standing(job: JobOut) -> str:
    if job.pin is not None:
        where = ", ".join(f"{count} on {name}" for name, count in job.pin.nodes.items())
        return f"Pinned to {job.pin.workers}" + (f": {where}." if where else ".")
    if job.shrunk:
        return "Held at its least size because it used none of its GPUs."
    return "" if job.state in ENDED else "The policy decides."
