"""Scale a job: pin its size, or leave it to the policy again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fastapi import APIRouter

from tenuto.model.event import Event
from tenuto.model.job import Job, Pin
from tenuto.server import breaches, wishes
from tenuto.server.jobs import Ref, shown_now
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.pins import Ground, pin_of
from tenuto.server.platform import Here, Who
from tenuto.server.scene import View, foresee_then_write
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.wire.asks import ScaleIn
from tenuto.wire.replies import JobOut

if TYPE_CHECKING:
    from tenuto.forecast.changes import Breach

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=BodyRoute)


@router.post("/{ref}/scale", response_model=JobOut)
def scale_job(here: Here, who: Who, ref: Ref, wish: ScaleIn) -> JobOut:
    """Pin a job's number of workers, or their places; `auto` leaves both to the policy again."""
    asker = Asker(who, here.clock())

    def foresee(seen: View) -> _Found:
        job = seen.job
        assert job is not None
        wishes.check_changeable(job, frozenset())
        pin = pin_of(job, wish, Ground(seen.nodes, seen.others(job)))
        if pin is None or pin == job.pin or not job.is_planned:
            return _Found(job, pin)
        broken = breaches.foreseen(seen, seen.with_job(replace(job, pin=pin, shrunk=False)))
        if not wish.force:
            breaches.refuse(broken)
        return _Found(job, pin, broken)

    return shown_now(
        here, foresee_then_write(here, ref, foresee, lambda tx, found: _pinned(tx, asker, found))
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What a wish means, and what it would break."""

    job: Job
    pin: Pin | None
    broken: Sequence[Breach] = ()

    @property
    def changes_nothing(self) -> bool:
        """Whether all is as it is wished; a job that was shrunk for not using its GPUs is so no more after a wish."""
        return self.pin == self.job.pin and not self.job.shrunk


def _pinned(tx: Tx, asker: Asker, found: _Found) -> Job:
    job, pin, broken = found.job, found.pin, found.broken
    if found.changes_nothing:
        return job
    pinned = tx.put_job(replace(job, pin=pin, shrunk=False, actor=asker.user))
    data: dict[str, object] = {"nodes": dict(pin.nodes)} if pin is not None and pin.nodes else {}
    if broken:
        data |= {"forced": True, "breaks": [breach.job for breach in broken]}
    tx.add_event(
        Event(
            kind="pinned",
            at=asker.now,
            actor=asker.user,
            job=job.id,
            before=_size(job.pin),
            after=_size(pin),
            reason=f"{asker.user} asked for it" + (" by force" if broken else ""),
            data=data,
        )
    )
    breaches.note(tx, asker, broken, f"job {job.id} is pinned to size {_size(pin)}")
    return tx.job(job.id) or pinned


def _size(pin: Pin | None) -> str:
    return "auto" if pin is None else str(pin.workers)
