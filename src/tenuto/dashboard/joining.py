"""What to do where there is no node."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.frame import empty


def how_to_join(request: Request) -> ui.column:
    """Tell how a machine becomes a node of the server that the visitor looks at."""
    server = str(request.base_url).rstrip("/")
    with ui.column().classes("w-full") as told:
        empty(
            "No node has joined yet. On a machine that shall train, with a copy of the server's node-token:",
            f"tenuto node join {server} --token-file node-token",
        )
    return told
