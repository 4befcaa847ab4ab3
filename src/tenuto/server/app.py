"""The REST server as an ASGI app: doors, resources, one shape of errors. It never sees engines or the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastapi import APIRouter, FastAPI, Security
from fastapi.security import HTTPBearer

import tenuto
from tenuto.server import (
    checks,
    cluster,
    cluster_map,
    curves,
    dry_run,
    errors,
    events,
    explain,
    health,
    history,
    job_table,
    jobs,
    metrics,
    nodes,
    operations,
    overview,
    page,
    policy,
    prometheus,
    report,
    scale,
    scaling,
    series,
    shadows,
    stream,
    timeline,
    tokens,
    whatif,
)
from tenuto.server import logs as log_pages
from tenuto.server.assignments import Assignments
from tenuto.server.auth import NODE, Gate
from tenuto.server.desk import Desk
from tenuto.server.doors import BodyLimit, KnownHost, LiveInstead, SafeHeaders
from tenuto.server.glance import Glance
from tenuto.server.guests import Guests
from tenuto.server.latency import Latency
from tenuto.server.platform import Files, Platform
from tenuto.server.route_guard import NO_TOKEN, USERS, RouteAccess, RouteGuard
from tenuto.server.straight import StraightToTheStore
from tenuto.settings import Settings
from tenuto.store.base import Store

PREFIX = "/api/v1"
_DESCRIPTION = "Elastic deep-learning training that holds its deadlines."


def create_app(
    store: Store,
    files: Files,
    settings: Settings,
    clock: Callable[[], float],
    routers: Iterable[APIRouter] = (),
    gate: Gate | None = None,
) -> FastAPI:
    """The server; `routers` are mounted beside the API and check tokens themselves.

    `app.state.platform.bell.close()` sends all who wait for a job home: to be called when the server shall end.
    `app.state.trouble` may be set to what tells `/healthz` in a sentence that something beside the server is not well,
    `app.state.shadows` to what tells how policies fare that decide along (`forecast.shadow.Shown`),
    `app.state.questions` to what passes questions on to nodes (`server.checks.Asked`), `app.state.origins` to where
    settings come from, by their names, `app.state.tickets` to what makes tickets for the page (`server.page.Tickets`),
    `app.state.assignments` to what knows which workers are ordered on which node, `app.state.on_revoked` to what is
    called with the name of a node whose credential was revoked.
    """
    app = FastAPI(
        title="tenuto",
        version=tenuto.__version__,
        description=_DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # the pages that FastAPI brings fetch their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    app.state.platform = Platform.over(store, files, settings, clock)
    app.state.desk = Desk()
    app.state.trouble = str
    app.state.shadows = tuple
    app.state.questions = None
    app.state.origins = {}
    app.state.tickets = None
    app.state.guests = Guests()
    app.state.gate = gate or Gate(store, clock)
    app.state.assignments = Assignments(store)
    app.state.on_revoked = None
    app.state.glance = Glance(app.state.platform)
    app.state.pages = prometheus.Pages(app.state.platform, app.state.glance)
    errors.install(app)
    access = RouteAccess(app.router)
    access.set(app.router.routes, NO_TOKEN)  # the description, which FastAPI has added itself
    _add_doors(app, app.state.gate, settings, access)
    _add_routes(app, settings, access)
    with access.adding(NO_TOKEN):
        for router in routers:
            app.include_router(router)
    return app


def _add_routes(app: FastAPI, settings: Settings, access: RouteAccess) -> None:
    """Add all resources; a router that is added without its kinds of tokens takes those of users."""
    api = APIRouter(
        prefix=PREFIX, responses=errors.RESPONSES, dependencies=[Security(HTTPBearer(auto_error=False))]
    )
    uploads = APIRouter(
        prefix=PREFIX, responses=errors.RESPONSES, dependencies=[Security(HTTPBearer(auto_error=False))]
    )
    about_jobs = (jobs, job_table, scale, log_pages, metrics, series, curves, history, timeline, report)
    about_the_whole = (
        stream,
        events,
        scaling,
        nodes,
        checks,
        operations,
        policy,
        shadows,
        cluster,
        cluster_map,
        overview,
        page,
        tokens,
    )
    questions = (dry_run, whatif, explain)
    for resource in (*about_jobs, *about_the_whole, *questions):
        api.include_router(resource.router)
    uploads.include_router(metrics.upload_router)
    with access.adding(USERS):
        app.include_router(api)
    with access.adding(USERS | {NODE}):
        app.include_router(uploads)
    with access.adding(NO_TOKEN):
        app.include_router(health.router, prefix=PREFIX, responses=errors.RESPONSES)
        app.include_router(health.router, include_in_schema=False)  # where other programs look for it
    with access.adding(NO_TOKEN if settings.metrics.public else USERS):
        app.include_router(prometheus.router)


def _add_doors(app: FastAPI, gate: Gate, settings: Settings, access: RouteAccess) -> None:
    """The last one added is the first one met."""
    most = settings.serving.max_body
    app.add_middleware(StraightToTheStore, path=f"{PREFIX}/jobs")
    app.add_middleware(LiveInstead, list_=f"{PREFIX}/events", stream=f"{PREFIX}/events/stream")
    app.add_middleware(BodyLimit, prefix=PREFIX, limit=most)
    app.add_middleware(RouteGuard, gate=gate, access=access, guests=app.state.guests)
    app.add_middleware(KnownHost, bound_to=settings.serving.host, names=settings.serving.names.split())
    app.add_middleware(errors.Incidents)
    app.add_middleware(SafeHeaders)
    before_routes = frozenset({f"{PREFIX}/jobs", f"{PREFIX}/events", prometheus.PATH})
    app.add_middleware(Latency, counts=app.state.platform.counts, fixed=before_routes)
