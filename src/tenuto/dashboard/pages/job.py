"""One job: its promise and progress, its size by a button, its charts, logs and events."""

from __future__ import annotations

from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import empty, frame
from tenuto.dashboard.job.log_file import whole_log
from tenuto.dashboard.job.page import JobPage
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import link
from tenuto.errors import Conflict, NotFound, TenutoError
from tenuto.wire.replies import JobOut
from tenuto.wire.worker import WorkerId

_HEAD = '<link rel="stylesheet" href="/page/job.css"><script src="/page/job.js" defer></script>'


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/jobs/{job}", response_timeout=20)
    async def job(request: Request, job: str, tab: str = "") -> None:
        ask, user = site.ask(request), request.state.visitor.user
        try:
            found = await ask.job(job)
        except (NotFound, Conflict) as error:
            _not_there(error, user)
            return
        live = Live(site.news)
        ui.add_head_html(_HEAD)
        with frame(found.name, "/jobs", user):
            page = JobPage(site, ask, found, tab)
        await page.begin(live)

    @app.get("/jobs/{job}/log", include_in_schema=False)
    async def download(request: Request, job: str, worker: str = "") -> Response:
        """What one worker printed, or all of them."""
        ask = site.ask(request)
        try:
            found = await ask.job(job)
            workers = await _workers(ask, found, worker)
        except (TenutoError, ValueError) as error:
            return PlainTextResponse(str(error), 404)
        name = worker or found.id
        return StreamingResponse(
            whole_log(ask, found.id, workers),
            media_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}.log"'},
        )


async def _workers(ask: AsyncClient, job: JobOut, worker: str) -> list[WorkerId]:
    """Whose logs are meant. Raises if it is no worker of the job's."""
    if worker:
        meant = WorkerId.parse(worker)
        if str(meant) != worker or meant.job != job.id:
            raise NotFound(f"job {job.id} has no such worker")
        return [meant]
    return [WorkerId.parse(one.worker) async for one in ask.attempts(job)]


def _not_there(error: TenutoError, user: str) -> None:
    """Nothing is called that, or several are."""
    ui.status_code(error.http_status)
    with frame("No such job", "/jobs", user):
        empty(f"{error}")
        ui.html(f"{link('/jobs', 'See all jobs')} · {link('/submit', 'Submit one')}", sanitize=False).classes(
            "self-center"
        )
