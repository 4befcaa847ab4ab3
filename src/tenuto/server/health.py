"""Whether the server is alive (`healthz`) and takes work (`readyz`), for whoever watches over it; without a token."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool

import tenuto
from tenuto.errors import TenutoError, Told
from tenuto.server.platform import Here, Platform
from tenuto.store.base import Tx
from tenuto.wire.operations import ReadyOut
from tenuto.wire.replies import HealthOut

router = APIRouter(tags=["health"])
PATIENCE = 2.0
"""Seconds that the store may take before it counts as away."""


class NotWell(Told):
    """The server answers, but nobody decides."""

    code = "not_well"
    http_status = 503


class NotReady(Told):
    """The server answers, but takes no work now."""

    code = "not_ready"
    http_status = 503


@router.get("/healthz", response_model=HealthOut)
async def health(request: Request) -> HealthOut:
    """Tell that the server answers and decides; needs no token and looks at nothing that takes time."""
    if trouble := request.app.state.trouble():
        raise NotWell(trouble, remedy="See the server's log")
    return HealthOut(status="ok", version=tenuto.__version__)


@router.get("/readyz", response_model=ReadyOut)
async def ready(request: Request, here: Here) -> ReadyOut:
    """Tell that the store answers, that a controller leads and has ticked lately, and that nothing is drained."""
    await health(request)
    try:
        async with asyncio.timeout(PATIENCE):
            trouble = await run_in_threadpool(_trouble, here)
    except TimeoutError:
        trouble = f"the store has not answered for {PATIENCE:g} s"
    except TenutoError as error:
        trouble = str(error)
    if trouble:
        raise NotReady(trouble, remedy="Try again soon")
    history = here.files.series.trouble
    return ReadyOut(
        status="ready",
        version=tenuto.__version__,
        now=here.clock(),
        warning=f"the history of numbers is not written: {history}" if history else "",
    )


def _trouble(here: Platform) -> str:
    """What keeps the platform from taking work, in a sentence; empty if nothing does."""

    def look(tx: Tx) -> str:
        controller: dict[str, Any] = tx.meta("controller") or {}
        leadership: dict[str, Any] = tx.meta("leadership") or {}
        if tx.meta("draining"):
            return "the platform is being drained"
        if (state := controller.get("state", "not there")) != "deciding":
            return f"the controller is {state}"
        # A leader says every few seconds that it is there; its lease ends when it has not ticked for a while.
        if (until := leadership.get("until", 0.0)) <= here.clock():
            return f"no controller has ticked since its lease ended {here.clock() - until:.0f} s ago"
        return ""

    return here.store.read(look)
