"""An event: something happened to a job or a node. Events are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened, by whom, and what was before and after."""

    kind: str
    """`submitted`, `verdict`, `phase`, `scaled`, `pinned`, `worker`, `promise`, `idle`, `node`, `policy` …"""
    at: float
    actor: str
    """A user's name, `policy:NAME`, `controller`, or `node:NAME`."""
    job: str = ""
    """The job's id."""
    node: str = ""
    before: str = ""
    after: str = ""
    reason: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    id: int = 0
    """Given by the store, ascending without gaps."""
