"""The routes of an app, however its version of FastAPI keeps them."""

from __future__ import annotations

from typing import Any

import fastapi.routing
from fastapi import FastAPI


def routes_of(app: FastAPI) -> list[tuple[str, frozenset[str]]]:
    """The template and the methods of each route; a websocket has none. Newer FastAPIs keep routers as a tree."""
    flat: Any = getattr(fastapi.routing, "iter_route_contexts", iter)(app.routes)
    return [(route.path, frozenset(getattr(route, "methods", None) or ())) for route in flat]
