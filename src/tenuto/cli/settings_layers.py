"""Settings laid over each other: defaults, last time's, a file, the environment, options; and whether they fit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any
from urllib.parse import urlsplit

from tenuto.errors import InputInvalid
from tenuto.server.proxies import proxy_networks
from tenuto.settings import Idle, Influx, Logs, Monitor, Quotas, Serving, Settings, Sharing, without_secrets
from tenuto.suggest import did_you_mean
from tenuto.wire import env

Given = Mapping[str, Mapping[str, Any]]
"""Values by group and field; only those that somebody gave."""

HIGHEST_PORT = 65535
SHORTEST_PERIOD, LONGEST_PERIOD = 0.1, 600.0
"""Seconds: more often would be felt by training; of less, an hour of samples would tell nothing."""
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
PREFIX = "TENUTO"
_INHERITED = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?", re.ASCII)
_EACH_ITS_OWN = frozenset(
    {
        env.RANK,
        env.LOCAL_RANK,
        env.WORLD_SIZE,
        env.LOCAL_WORLD_SIZE,
        env.GROUP_RANK,
        env.MASTER_ADDR,
        env.MASTER_PORT,
        env.CUDA_VISIBLE_DEVICES,
    }
)
"""Variables that no two workers can have in common by a setting."""


def named_in(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """The variables that are settings, with group and field: TENUTO_NODES_TIMEOUT is `timeout` of `nodes`.

    An empty variable counts as none.
    """
    known = {
        f"{PREFIX}_{group.name}_{field.name}".upper(): (group.name, field.name)
        for group in fields(Settings)
        for field in fields(getattr(Settings(), group.name))
    }
    return {name: known[name] for name in sorted(known) if environment.get(name)}


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
    _check_connections(serving)
    _check_log(settings.logs)
    _check_retention(settings.retention)
    _check_sharing(settings.sharing)
    _check_monitor(settings.monitor)
    _check_influx(settings.influx)
    _check_idle(settings.idle)
    _check_variables(settings.workers.env)
    _check_inherited(settings.workers.inherit)


def _check_connections(serving: Serving) -> None:
    for name in (
        "connections_per_address",
        "header_bytes",
        "header_seconds",
        "body_seconds",
        "idle_seconds",
    ):
        _demand(getattr(serving, name) > 0, f"serving.{name}", "is 0", "Leave it out to get the default")
    try:
        proxy_networks(serving.proxies)
    except ValueError as error:
        remedy = "Write addresses or networks with blanks between them, such as 10.0.0.5 10.1.0.0/16"
        raise InputInvalid(f"serving.proxies: {error}", remedy=remedy, field="serving.proxies") from None


def _check_log(logs: Logs) -> None:
    _demand(logs.server_bytes > 0, "logs.server_bytes", "is 0", "Ten megabytes are 10485760")
    _demand(logs.server_files > 0, "logs.server_files", "is 0", "Keep 1 at least, else the log could not end")
    for name, given, known in (
        ("logs.server_level", logs.server_level, LEVELS),
        ("logs.server_format", logs.server_format, FORMATS),
    ):
        remedy = f"{did_you_mean(given, known)}Known are {', '.join(known)}"
        _demand(given in known, name, f"cannot be {given!r}", remedy)


def _check_retention(retention: Quotas) -> None:
    _demand(
        retention.period > 0,
        "retention.period",
        "is 0",
        "Write 60; for no limit set log_bytes, record_bytes and events to 0",
    )
    _demand(
        0 < retention.job_share <= 1,
        "retention.job_share",
        f"of {retention.job_share:g} is not a part of a quota",
        "Write a number above 0 and up to 1, such as 0.1",
    )


def _check_sharing(sharing: Sharing) -> None:
    _demand(sharing.jobs >= 1, "sharing.jobs", "is 0", "Write 1 if no two jobs shall be on one slot")
    _demand(
        sharing.memory <= 1,
        "sharing.memory",
        f"of {sharing.memory:g} is more than all there is",
        "Write a part of the memory, such as 0.5",
    )


def _check_monitor(monitor: Monitor) -> None:
    period, upload = monitor.period, monitor.upload
    fits = period == 0 or SHORTEST_PERIOD <= period <= LONGEST_PERIOD
    between = f"between {SHORTEST_PERIOD:g} and {LONGEST_PERIOD:g} s"
    _demand(fits, "monitor.period", f"of {period:g} s is not {between}", "Write 1, or 0 for no samples")
    fits = SHORTEST_PERIOD <= upload <= LONGEST_PERIOD
    _demand(fits, "monitor.upload", f"of {upload:g} s is not {between}", "Write 2")


def _check_influx(influx: Influx) -> None:
    if influx.url:
        shown = without_secrets(influx.url)
        remedy = "Write it as http://influx:8086"
        try:
            parts = urlsplit(influx.url)
            right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:
            right = False
        _demand(right, "influx.url", f"{shown!r} is no address of a database", remedy)
        _demand(bool(influx.database or influx.bucket), "influx.database", "is empty", "Name it, or a bucket")
    least = 1 << 20
    _demand(
        influx.buffer >= least, "influx.buffer", f"is less than {least} bytes", "Write 67108864 for 64 MiB"
    )
    _demand(
        not influx.user or bool(influx.secret_file),
        "influx.user",
        "has no password",
        "Put it into a file that only you can read, and name that in influx.secret_file",
    )


def _check_idle(idle: Idle) -> None:
    _demand(
        idle.below <= 100,
        "idle.below",
        f"of {idle.below:g} % is more than any GPU can be used",
        "Write a number of percent, such as 5",
    )


def _check_variables(variables: Mapping[str, str]) -> None:
    if not variables:
        return
    from tenuto.wire.fields import variables as checked  # pydantic, for those who need it
    from tenuto.wire.quantities import Unusable

    try:
        checked(dict(variables))
    except Unusable as error:
        raise InputInvalid(
            f"workers.env: {error.problem}", remedy=error.remedy, field="workers.env"
        ) from None
    own = sorted(_EACH_ITS_OWN & variables.keys())
    _demand(not own, "workers.env", f"sets {', '.join(own)}", "Each worker gets its own; leave it out")


def _check_inherited(names: str) -> None:
    wrong = [name for name in names.split() if not _INHERITED.fullmatch(name)]
    _demand(
        not wrong,
        "workers.inherit",
        f"names {', '.join(map(repr, wrong))}, which is no variable",
        "Write names with blanks between them, such as HF_HOME TORCH_*",
    )


def _demand(holds: bool, field: str, problem: str, remedy: str) -> None:
    if not holds:
        raise InputInvalid(f"{field} {problem}", remedy=remedy, field=field)
