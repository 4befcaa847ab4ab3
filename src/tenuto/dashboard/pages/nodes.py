"""Nodes."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.frame import empty, frame
from tenuto.dashboard.site import Site


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/nodes", response_timeout=20)
    async def nodes(request: Request) -> None:
        with frame("Nodes", "/nodes", request.state.visitor.user):
            empty("Nothing here yet.")
