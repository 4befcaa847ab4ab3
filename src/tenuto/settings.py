"""Everything an operator can set, in groups, with unit, default and reason. Values only; cli reads files."""

from __future__ import annotations

import re
from collections.abc import Mapping
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
    paths: str = ""
    """Directories that every node must see, with colons between them; `tenuto doctor --all-nodes` looks at them."""
    cpu_jobs: int = 1
    """Workers of jobs without GPUs that a node takes beside its slots; 0 for none."""
    approval: bool = False
    """Whether a node that joins waits until an operator approves it: `tenuto node approve`."""
    credential_days: float = 30.0
    """Days after which a node replaces its credential by a new one; 0 for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """What every worker gets."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables of its environment, unless its job sets them otherwise. Those that run keep what they have."""
    inherit: str = ""
    """Names of variables that it inherits from its supervisor besides the usual ones, with blanks between them; a `*`
    at the end stands for any ending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """When a job that waits may come to a slot that another one holds; both must have agreed."""

    jobs: int = 2
    """The most jobs on one slot; 1 for no sharing."""
    memory: float = 0.5
    """The share of a GPU's memory in use from which on nobody else may come to it."""
    settle: float = 30.0
    """Seconds that those on a GPU must have run before the memory in use there tells anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """How much of what workers print is kept, and what the server itself writes."""

    keep_bytes: int = 1 << 30
    """The newest bytes of each attempt that the server keeps."""
    spool_bytes: int = 256 << 20
    """The newest bytes of each attempt that a supervisor keeps until they are uploaded."""
    server_file: str = ""
    """The server's own log; `server.log` in the home, if empty."""
    server_level: str = "info"
    """The least grave entries in it: `debug`, `info`, `warning` or `error`."""
    server_format: str = "text"
    """`text` or `json`, one line for each entry."""
    server_bytes: int = 10 << 20
    """Bytes after which the log is set aside as `.1`, the one before as `.2`, and so on."""
    server_files: int = 5
    """So many logs that were set aside are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """How much is kept of logs, records and events, and for how long; 0 for no limit."""

    log_bytes: int = 20 << 30
    """Bytes of what all workers printed together."""
    record_bytes: int = 4 << 30
    """Bytes of what all workers reported of their steps together."""
    events: int = 1_000_000
    """Events of all jobs and nodes together."""
    job_share: float = 0.1
    """The part of each of these that one job may hold: a job with more loses its own oldest first."""
    file_seconds: float = 0.0
    """Seconds after the end of a job for which its logs and records are kept."""
    event_seconds: float = 0.0
    """Seconds for which events are kept."""
    job_seconds: float = 0.0
    """Seconds after its end for which a job is kept, with everything that belongs to it."""
    key_seconds: float = 30 * 86_400.0
    """Seconds for which idempotency keys are kept."""
    period: float = 60.0
    """Seconds between two rounds that look for what is too old or too much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How much of what workers tell of their steps is kept."""

    keep_bytes: int = 8 << 20
    """The newest bytes of each worker that the server keeps; a record takes about 200."""

    public: bool = False
    """Whether `/metrics` is told to whoever asks, without a token, as Prometheus does by default."""
    jobs: int = 200
    """Jobs that `/metrics` tells one by one, those at risk and those with workers first; the others are a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """How nodes are watched, and for how long that is remembered."""

    period: float = 1.0
    """Seconds between two samples of a node; 0 for none at all."""
    upload: float = 2.0
    """Seconds between two uploads of a node's samples."""
    raw: float = 86_400.0
    """Seconds for which every point is kept."""
    minutes: float = 30 * 86_400.0
    """Seconds for which means of minutes are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Influx:
    """The InfluxDB, or what speaks its line protocol, that gets all samples too."""

    url: str = ""
    """Such as `http://influx:8086`; empty for none."""
    database: str = "tenuto"
    """Of InfluxDB 1.x; 2.x takes a bucket instead."""
    user: str = ""
    bucket: str = ""
    """Of InfluxDB 2.x; its API is spoken if this is set."""
    org: str = ""
    secret_file: str = ""
    """The file with the password (1.x) or the token (2.x)."""
    buffer: int = 64 << 20
    """Bytes that are kept at most while the database is away; then the oldest are dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """When a job counts as one that does not use the GPUs it holds."""

    after: float = 900.0
    """Seconds without use after which it is told; 0 for never."""
    below: float = 5.0
    """Percent of utilisation that are no use."""
    shrink: bool = False
    """Whether such a job is shrunk to its least size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """How the server listens."""

    host: str = "127.0.0.1"
    port: int = 0
    """0 lets the system choose; a port once chosen is tried again at the next start."""
    max_body: int = 1 << 20
    """Bytes of the largest request body, uploads of logs excepted."""
    names: str = ""
    """Names by which a server on loopback may be called besides its own, with blanks between them: those of a proxy."""
    uds: str = ""
    """A Unix socket on which it listens besides its port, for a proxy on this machine."""
    proxies: str = ""
    """Addresses or networks of proxies, separated by blanks: only from them `X-Forwarded-For` and `X-Forwarded-Proto`
    are taken, and their connections are not limited per address. The Unix socket is always taken for a proxy."""
    connections: int = 0
    """Most connections at the same time; 0 for half of the limit on open files."""
    connections_per_address: int = 100
    """Most connections of one address on which no valid token has come yet."""
    header_bytes: int = 64 << 10
    """Most bytes of a request's line and headers."""
    header_seconds: float = 10.0
    """Seconds in which a request's headers must be complete."""
    body_seconds: float = 10.0
    """Seconds over which the rate of a request's body is measured."""
    body_rate: int = 1024
    """Least bytes per second of a request's body."""
    idle_seconds: int = 5
    """Seconds after which a connection is closed on which no further request begins."""


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
    workers: Workers = field(default_factory=Workers)
    sharing: Sharing = field(default_factory=Sharing)
    logs: Logs = field(default_factory=Logs)
    metrics: Metrics = field(default_factory=Metrics)
    retention: Quotas = field(default_factory=Quotas)
    monitor: Monitor = field(default_factory=Monitor)
    influx: Influx = field(default_factory=Influx)
    idle: Idle = field(default_factory=Idle)
    serving: Serving = field(default_factory=Serving)
    learning: Learning = field(default_factory=Learning)
    store: Storage = field(default_factory=Storage)


def named(settings: Settings) -> dict[str, Any]:
    """Every setting by its full name, such as `nodes.timeout`, in its order."""
    return {
        f"{group.name}.{field.name}": getattr(getattr(settings, group.name), field.name)
        for group in fields(settings)
        for field in fields(getattr(settings, group.name))
    }


def without_secrets(value: Any) -> Any:
    """A setting as it may be shown: without the password of a URL, and without what variables contain."""
    if isinstance(value, Mapping):
        return dict.fromkeys(value, "[hidden]")
    return re.sub(r"//[^/]*@", "//", value) if isinstance(value, str) else value


def scheduling_in_force(written: Any, default: Scheduling) -> Scheduling:
    """How rounds decide as the store has it, else the default; fields of another version are left out."""
    if not isinstance(written, dict):
        return default
    known = {field.name for field in fields(Scheduling)}
    values = {name: value for name, value in written.items() if name in known}
    if "placement" in values:
        values["placement"] = Placement(values["placement"])
    return replace(default, **values)
