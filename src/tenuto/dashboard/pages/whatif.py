"""What if."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.frame import empty, frame
from tenuto.dashboard.site import Site


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/whatif", response_timeout=20)
    async def whatif(request: Request) -> None:
        with frame("What if", "/whatif", request.state.visitor.user):
            empty("Nothing here yet.")
