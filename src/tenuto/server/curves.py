"""Curves that runs have left behind: listed, and added to by whoever has measured."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tenuto.errors import InputInvalid
from tenuto.forecast.measured import CURVES, MOST_SIZES, Stretch, key_of, refined, sizes_known
from tenuto.server.find import job_called
from tenuto.server.jobs import Ref
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.platform import Here
from tenuto.server.show import moment
from tenuto.store.base import Tx
from tenuto.wire.asks import CurveIn
from tenuto.wire.replies import CurveOut, Page, SizeOut

router = APIRouter(tags=["curves"], route_class=BodyRoute)


@router.get("/curves", response_model=Page[CurveOut])
def list_curves(here: Here) -> Page[CurveOut]:
    """List the curves that runs have left behind, the one refined last first."""
    stored: dict[str, Any] = here.store.read(lambda tx: tx.meta(CURVES)) or {}
    newest = sorted(stored.items(), key=lambda item: item[1]["at"], reverse=True)
    return Page(items=[_shown(key, entry) for key, entry in newest])


@router.post("/jobs/{ref}/curve", response_model=CurveOut)
def add_to_curve(here: Here, ref: Ref, measured: CurveIn) -> CurveOut:
    """Remember speeds that were measured with a job, for all jobs of its kind."""
    now = here.clock()
    stretches = [Stretch(size=size, rate=rate, at=now) for size, rate in measured.curve.items()]

    def act(tx: Tx) -> CurveOut:
        job = job_called(tx, ref)
        before = tx.meta(CURVES) or {}
        stored = refined(before, job.spec, measured.kind, stretches)
        if stored == before:
            raise InputInvalid("these are too many sizes", remedy=f"Give {MOST_SIZES} at most", field="curve")
        tx.set_meta(CURVES, stored)
        key = key_of(job.spec, measured.kind)
        return _shown(key, stored[key])

    return here.store.write(act)


def _shown(key: str, entry: dict[str, Any]) -> CurveOut:
    return CurveOut(
        key=key,
        name=entry["name"],
        kind=entry["kind"],
        refined_at=moment(entry["at"]) or "",
        sizes={
            str(size): SizeOut(steps_per_second=known.rate, spread=known.spread, count=known.count)
            for size, known in sizes_known(entry).items()
        },
    )
