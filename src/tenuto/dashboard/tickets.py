"""A link that logs a browser in, for those who have a token already: `tenuto open` asks for it."""

from __future__ import annotations

from fastapi import APIRouter, Request, Security
from fastapi.security import HTTPBearer

from tenuto.dashboard.visitors import TICKET, Visitors
from tenuto.server import errors
from tenuto.server.app import PREFIX
from tenuto.wire.operations import PageOut


def ticket_router(visitors: Visitors) -> APIRouter:
    """The part of the API that gives such links."""
    router = APIRouter(
        prefix=PREFIX,
        tags=["page"],
        responses=errors.RESPONSES,
        dependencies=[Security(HTTPBearer(auto_error=False))],
    )

    @router.post("/page", response_model=PageOut)
    async def open_page(request: Request) -> PageOut:
        """Get a path of this server that logs a browser in; it works once, and for a minute."""
        ticket = visitors.ticket_for(request.state.token)
        return PageOut(path=f"/enter?ticket={ticket}", seconds=TICKET)

    return router
