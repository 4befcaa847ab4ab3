"""Where this user's files lie. A module of its own, so that asking costs no import of the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def home(environment: Mapping[str, str]) -> Path:
    """$TENUTO_HOME, else the desktop standard's place for data."""
    if named := environment.get("TENUTO_HOME"):
        return Path(named).expanduser()
    data = environment.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "tenuto"
