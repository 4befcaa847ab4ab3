"""What must be done so that the workers that are here become the ones that are wanted. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenuto.wire.worker import WorkerId, WorkerOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A worker that has a record here."""

    slot: int | None
    gone: bool
    """For certain."""
    stopping: bool
    told: bool
    """The server has its exit code and its whole log."""
    kept: bool = False
    """It is not to be stopped yet, though it is not wanted: others still train with it."""
    shares: bool = False
    """Others that share may be on its slot beside it, as long as it is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What to do now; those who wait are looked at again when something has changed."""

    start: tuple[WorkerOrder, ...]
    stop: tuple[WorkerId, ...]
    forget: tuple[WorkerId, ...]
    wait: tuple[WorkerOrder, ...]


def converge(wanted: Mapping[WorkerId, WorkerOrder], here: Mapping[WorkerId, Held]) -> Steps:
    """Start what is wanted, was never started and finds its slot free, or shared as it shares it; stop and then
    forget what is not wanted."""
    living = {worker: held for worker, held in here.items() if not held.gone and held.slot is not None}
    shared = {held.slot for worker, held in living.items() if held.shares and worker in wanted}
    taken = {held.slot for worker, held in living.items() if not (held.shares and worker in wanted)}
    start: list[WorkerOrder] = []
    wait: list[WorkerOrder] = []
    for worker in sorted(wanted.keys() - here.keys()):
        order = wanted[worker]
        if order.slot in taken or (order.slot in shared and not order.shares):
            wait.append(order)
            continue
        start.append(order)
        if order.slot is not None:
            (shared if order.shares else taken).add(order.slot)
    unwanted = {worker: held for worker, held in here.items() if worker not in wanted}
    return Steps(
        start=tuple(start),
        stop=tuple(
            worker for worker, held in unwanted.items() if not (held.gone or held.stopping or held.kept)
        ),
        forget=tuple(worker for worker, held in unwanted.items() if held.gone and held.told),
        wait=tuple(wait),
    )
