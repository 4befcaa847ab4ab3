"""All routes of an app."""

from __future__ import annotations

from typing import Any

import fastapi.routing
from fastapi import FastAPI


def all_routes(app: FastAPI) -> list[Any]:
    """Every route, also those of included routers: newer FastAPIs keep routers as a tree."""
    return list(getattr(fastapi.routing, "iter_route_contexts", iter)(app.routes))
