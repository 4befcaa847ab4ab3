"""What operators ask of the server, and what it answers: checks of nodes, its log, its settings, its readiness."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from tenuto.wire.fields import Request
from tenuto.wire.quantities import Unusable
from tenuto.wire.replies import Answer

MOST_NODES = 100
"""Nodes that one request may ask; a page of answers."""
MOST_PATHS = 16
LONGEST_CHECK = 60.0


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise Unusable(f"{path[:80]!r} is no absolute path", "Begin it with /")
    return path


class ChecksIn(Request):
    """Which nodes shall say how they find themselves."""

    nodes: list[Annotated[str, Field(max_length=100)]] = Field(min_length=1, max_length=MOST_NODES)
    paths: list[Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_absolute)]] = Field(
        default=[],
        max_length=MOST_PATHS,
        description="Directories that they shall look at, besides their own.",
    )
    timeout: float = Field(
        default=30.0, ge=0, le=LONGEST_CHECK, allow_inf_nan=False, description="Seconds to wait for them."
    )


class FindingOut(Answer):
    """One thing that a node has looked at."""

    topic: str
    name: str
    status: str
    """`ok`, `missing`, `warning` or `problem`."""
    told: str
    remedy: str
    value: float | None
    unit: str


class NodeCheckOut(Answer):
    """How a node finds itself."""

    node: str
    answer: str
    """`answered`, `late` (it said nothing in time), `offline`, or `unable` (its tenuto knows no such question)."""
    findings: list[FindingOut] = Field(default_factory=list)


class ChecksOut(Answer):
    """How nodes find themselves, in the order in which they were named."""

    items: list[NodeCheckOut]


class ReadyOut(Answer):
    """The server can take work."""

    status: str
    version: str
    now: float
    """Unix seconds, by its clock."""
    warning: str = ""
    """What does not keep it from work, and should be looked at nevertheless, in a sentence."""


class PageOut(Answer):
    """A link that logs a browser in."""

    path: str
    """Of this server; it works once."""
    seconds: float
    """For so long."""


class ServerLogOut(Answer):
    """Lines of the server's log, oldest first."""

    items: list[str]
    next: str
    """To be given as `after` for what follows."""
    earlier: str | None
    """To be given as `before` for what stands before; null if there is nothing."""


class SettingOut(Answer):
    """One setting in force."""

    name: str
    value: Any
    origin: str
    """Where it comes from: `default`, `stored`, `file`, `environment` or `option`."""


class SettingsOut(Answer):
    """All settings in force."""

    items: list[SettingOut]
