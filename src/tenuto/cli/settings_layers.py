"""Settings laid over each other: defaults, those of last time, a file, options; and whether they fit together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.settings import Settings

Given = Mapping[str, Mapping[str, Any]]
"""Values by group and field; only those that somebody gave."""

HIGHEST_PORT = 65535


def settings_from(*layers: Given) -> Settings:
    """The defaults, changed by each layer in turn; refuses what does not fit together."""
    settings = Settings()
    for layer in layers:
        groups = {name: replace(getattr(settings, name), **values) for name, values in layer.items()}
        settings = replace(settings, **groups)
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    nodes, serving = settings.nodes, settings.serving
    _demand(nodes.heartbeat > 0, "nodes.heartbeat", "is 0", "Give it a second or two")
    _demand(
        nodes.timeout >= 2 * nodes.heartbeat,
        "nodes.timeout",
        f"of {nodes.timeout:g} s is shorter than two heartbeats of {nodes.heartbeat:g} s",
        "A node would be given up while it lives; make it longer",
    )
    _demand(
        nodes.dead_man is None or nodes.dead_man >= nodes.heartbeat,
        "nodes.dead_man",
        "is shorter than a heartbeat",
        "Workers would be stopped while the server lives; make it longer, or leave it out",
    )
    _demand(
        serving.port <= HIGHEST_PORT,
        "serving.port",
        f"{serving.port} is no port",
        f"Choose one up to {HIGHEST_PORT}, or 0 to let the system choose",
    )
    _demand(bool(serving.host), "serving.host", "is empty", "Write 127.0.0.1")
    _demand(serving.max_body > 0, "serving.max_body", "is 0", "A megabyte is 1048576")


def _demand(holds: bool, field: str, problem: str, remedy: str) -> None:
    if not holds:
        raise InputInvalid(f"{field} {problem}", remedy=remedy, field=field)
