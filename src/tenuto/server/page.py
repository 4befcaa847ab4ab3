"""A link that logs a browser in, for those who have a token already: `tenuto open` asks for it."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request

from tenuto.errors import NotFound
from tenuto.store.base import Token
from tenuto.wire.operations import PageOut

router = APIRouter(tags=["page"])
TICKET = 60.0
"""Seconds in which a ticket must be used."""
Tickets = Callable[[Token], str]
"""Makes something that opens a session for a user, once."""


@router.post("/page", response_model=PageOut)
async def open_page(request: Request) -> PageOut:
    """Get a path of this server that logs a browser in; it works once, and for a minute."""
    tickets: Tickets | None = request.app.state.tickets
    if tickets is None:
        raise NotFound("this server has no page", remedy="Start it with tenuto up")
    return PageOut(path=f"/enter?ticket={tickets(request.state.token)}", seconds=TICKET)
