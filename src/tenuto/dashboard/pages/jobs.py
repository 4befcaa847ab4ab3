"""Jobs."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.frame import empty, frame
from tenuto.dashboard.site import Site


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/jobs", response_timeout=20)
    async def jobs(request: Request) -> None:
        with frame("Jobs", "/jobs", request.state.visitor.user):
            empty("Nothing here yet.")
