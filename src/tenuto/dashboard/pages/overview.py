"""Overview: the cluster at a glance."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/", response_timeout=20)
    async def overview(request: Request) -> None:
        ask = site.ask(request)
        live = Live(site.news)
        with frame("Overview", "/", request.state.visitor.user), card("Slots"):
            figure = ui.label().classes("t-figure").mark("slots")

        async def draw() -> None:
            told = await site.once("cluster", ask.cluster)
            figure.set_text(f"{told.slots.used} of {told.slots.usable}")

        await draw()
        live.part(draw, every=5.0)
