"""`GET /metrics`, where Prometheus looks for it: written in a thread, and not more often than once a second."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from tenuto.monitor.facts import Facts, Keeping, Pushing, Usage
from tenuto.monitor.prometheus.gauges import Present
from tenuto.monitor.prometheus.page import Form, written
from tenuto.server.glance import FRESH, Glance
from tenuto.server.platform import Platform
from tenuto.store.base import StoreUnavailable

PATH = "/metrics"
router = APIRouter(tags=["metrics"])


class Pages:
    """The newest page in each form, for all who ask within a second."""

    def __init__(self, here: Platform, glance: Glance, clock: Callable[[], float] = time.monotonic) -> None:
        self._here = here
        self._glance = glance
        self._clock = clock
        self._lock = Lock()
        self._written: dict[Form, tuple[float, bytes]] = {}
        self.pushing: Callable[[], Pushing | None] = lambda: None
        """How it goes with the InfluxDB, if one is set."""
        self.usage: Callable[[], Usage | None] = lambda: None
        """What is kept beside its quota, once it was measured."""

    def kept(self, form: Form) -> bytes | None:
        """The page, if one was written lately; asks nobody."""
        at, page = self._written.get(form, (0.0, b""))
        return page if page and self._clock() - at < FRESH else None

    def page(self, form: Form) -> bytes:
        """The page; one thread writes it, others who come meanwhile get the same."""
        with self._lock:
            page = self.kept(form)
            if page is None:
                page = written(self._here.counts, self._present(), form)
                self._written[form] = self._clock(), page
            return page

    def _present(self) -> Present:
        here = self._here
        facts: Facts | None = None
        with suppress(StoreUnavailable):  # that it is away is what somebody must be told
            facts = self._glance.now()
        return Present(
            facts=facts,
            samples=here.files.latest.all(),
            pulse=here.counts.pulse,
            period=here.settings.monitor.period,
            most_jobs=here.settings.metrics.jobs,
            listeners=here.bell.listeners,
            keeping=getattr(here.files.series, "health", None) or Keeping(),
            pushing=self.pushing(),
            usage=self.usage(),
            read_seconds=self._glance.read_seconds,
        )


@router.get(PATH, include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Tell Prometheus everything that is counted and measured."""
    pages: Pages = request.app.state.pages
    form = Form.asked_for(request.headers.get("accept", ""), request.headers.get("accept-encoding", ""))
    page = pages.kept(form) or await run_in_threadpool(pages.page, form)
    headers = {
        "Content-Type": form.content_type,
        "Cache-Control": "no-store",
        "Vary": "Accept, Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    if form.packed:
        headers["Content-Encoding"] = "gzip"
    return Response(page, headers=headers)
