"""The REST server as an ASGI app: doors, resources, one shape of errors. It never sees engines or the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fastapi import APIRouter, FastAPI, Security
from fastapi.security import HTTPBearer

import tenuto
from tenuto.server import cluster, curves, errors, events, jobs, metrics, nodes, policy, scale
from tenuto.server import logs as log_pages
from tenuto.server.auth import NODE, USER, Gate
from tenuto.server.doors import BodyLimit, Door, KnownHost, KnownToken, SafeHeaders
from tenuto.server.platform import Files, Platform
from tenuto.server.telling import Paces
from tenuto.server.waiting import JobBell
from tenuto.settings import Settings
from tenuto.store.base import Store

PREFIX = "/api/v1"
WITHOUT_TOKEN = frozenset({f"{PREFIX}/healthz", f"{PREFIX}/openapi.json"})
_DESCRIPTION = "Elastic deep-learning training that holds its deadlines."


def create_app(
    store: Store,
    files: Files,
    settings: Settings,
    clock: Callable[[], float],
    routers: Iterable[APIRouter] = (),
) -> FastAPI:
    """The server; `routers` are mounted beside the API and look after themselves.

    `app.state.platform.bell.close()` sends all who wait for a job home: to be called when the server shall end.
    `app.state.trouble` may be set to what tells `/healthz` in a sentence that something beside the server is not well.
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
    app.state.platform = Platform(store, files, Paces(store), settings, clock, JobBell(store))
    app.state.trouble = str
    errors.install(app)
    _add_doors(app, Gate(store), settings)
    api = APIRouter(
        prefix=PREFIX, responses=errors.RESPONSES, dependencies=[Security(HTTPBearer(auto_error=False))]
    )
    for resource in (jobs, scale, log_pages, metrics, curves, events, nodes, policy, cluster):
        api.include_router(resource.router)
    app.include_router(api)
    app.include_router(cluster.health_router, prefix=PREFIX, responses=errors.RESPONSES)
    for router in routers:
        app.include_router(router)
    return app


def _add_doors(app: FastAPI, gate: Gate, settings: Settings) -> None:
    """The last one added is the first one met."""
    most = settings.serving.max_body
    app.add_middleware(BodyLimit, prefix=PREFIX, limit=most)
    app.add_middleware(
        KnownToken,
        gate=gate,
        doors=[
            Door("POST", rf"{PREFIX}/jobs/[^/]+/metrics", (USER, NODE)),
            Door("", rf"{PREFIX}/.*", (USER,)),
        ],
        without=WITHOUT_TOKEN,
    )
    app.add_middleware(KnownHost, bound_to=settings.serving.host)
    app.add_middleware(errors.Incidents)
    app.add_middleware(SafeHeaders)
