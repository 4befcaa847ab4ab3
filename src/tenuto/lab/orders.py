"""What an errand is to do, and where it reads and writes. Light, for it is also read where nothing may be slow."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ORDER = "order.json"
INPUTS = "inputs"
"""The directory with the files that the order names."""
PAST_JOBS, PAST = "past.json", "past"
"""The past as the server told it, and the directory of its export, both in INPUTS."""
EXPERIMENT = "experiment.yaml"
DIGEST = "digest.json"
"""What came out, in few numbers."""
REPORTS = ("report.csv", "report.json")
DRAWN = "drawn.json"
"""What was drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOrder:
    """A trace under some policies. Paths are relative to the errand's directory."""

    trace: str
    """A name of the library or a path; nothing for the past that lies in the inputs."""
    policies: tuple[str, ...]
    cluster: str
    """A name or a path; nothing for the cluster of that past."""
    profiles: str = "a100"
    placement: str = "buddy"
    slot: float = 60.0
    compat: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureOrder:
    """A figure of the paper."""

    figure: str
    compat: str | None = None
    without: tuple[str, ...] = ()


def write_order(order: ReplayOrder | FigureOrder, directory: Path) -> None:
    """Leave an order for an errand."""
    (directory / ORDER).write_text(json.dumps(asdict(order), ensure_ascii=False) + "\n", encoding="utf-8")


def read_order(directory: Path) -> ReplayOrder | FigureOrder:
    """What is to be done."""
    told: dict[str, Any] = json.loads((directory / ORDER).read_text(encoding="utf-8"))
    listed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    return FigureOrder(**listed) if "figure" in listed else ReplayOrder(**listed)
