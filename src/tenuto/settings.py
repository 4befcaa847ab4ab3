"""Everything an operator can set, in groups, with unit, default and reason. Values only; cli reads files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from tenuto.model.rules import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """How rounds decide."""

    policy: str = "elasticflow"
    """A name or a `.py` file, as `tenuto policies` lists them."""
    interval: float = 60.0
    """Least seconds between two changes of a job's size that no promise demands."""
    margin: float = 0.1
    """Share of a job's work that admission adds, against speeds below the curve."""
    placement: Placement = Placement.BUDDY
    seed: int = 0
    start_cost: float = 5.0
    """Seconds without progress that admission reckons for a start of a command."""
    rescale_cost: float = 5.0
    """The same for a restart at another size or in another place."""
    wait_nodes: int = 1
    """No round is run before so many nodes have joined."""
    max_reconfigs_before_restart: int = 0
    """After so many changes of size in place all workers of a job are started anew from a checkpoint; 0 for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """How supervisors and the server keep in touch."""

    heartbeat: float = 2.0
    """Seconds between two signs of life of a node on which nothing happens."""
    timeout: float = 15.0
    """Seconds of silence after which a node is OFFLINE and its workers are lost."""
    dead_man: float | None = None
    """Seconds without the server after which a supervisor stops its workers; None for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """How much of what workers print is kept."""

    keep_bytes: int = 1 << 30
    """The newest bytes of each attempt that the server keeps."""
    spool_bytes: int = 256 << 20
    """The newest bytes of each attempt that a supervisor keeps until they are uploaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How much of what workers tell of their steps is kept."""

    keep_bytes: int = 8 << 20
    """The newest bytes of each worker that the server keeps; a record takes about 200."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the server listens."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 lets the system choose; a port once chosen is tried again at the next start."""
    max_body: int = 1 << 20
    """Bytes of the largest request body, uploads of logs excepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """Where everything is remembered."""

    url: str = ""
    """A database as SQLAlchemy names it, such as `postgresql+psycopg://host/name`; empty for SQLite in the home."""
    checkpoints: str = ""
    """Where jobs that rescale in place keep checkpoints if they name no directory, one below it for each; every node
    must see it. `checkpoints` in the home, if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How curves are measured for jobs that ask for it (`curve: auto`)."""

    steps: float = 10.0
    """Steps at one size that are enough."""
    seconds: float = 5.0
    """Seconds of progress at one size that are enough, however few the steps."""
    least: float = 1.0
    """Seconds of progress below which nothing is enough: steps are seen only now and then."""
    patience: float = 60.0
    """Seconds at one size after which what was seen must do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of them."""

    scheduling: Scheduling = field(default_factory=Scheduling)
    nodes: Nodes = field(default_factory=Nodes)
    logs: Logs = field(default_factory=Logs)
    metrics: Metrics = field(default_factory=Metrics)
    serving: Serving = field(default_factory=Serving)
    learning: Learning = field(default_factory=Learning)
    store: Storage = field(default_factory=Storage)


def scheduling_in_force(written: Any, default: Scheduling) -> Scheduling:
    """How rounds decide as the store has it, else the default; fields of another version are left out."""
    if not isinstance(written, dict):
        return default
    known = {field.name for field in fields(Scheduling)}
    values = {name: value for name, value in written.items() if name in known}
    if "placement" in values:
        values["placement"] = Placement(values["placement"])
    return replace(default, **values)
