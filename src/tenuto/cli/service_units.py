"""systemd units as text. Pure: who runs what, and where, is given.

The end of a unit must leave training alone: supervisors and workers are started by the server or the supervisor and
stay in the unit's control group, so systemd may end the main process only (`KillMode=process`), and must not end the
unit because a worker ran out of memory (`OOMPolicy=continue`). The next start finds them all again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MARK = "# Written by tenuto install-service; tenuto uninstall-service takes it away again."
_PLAIN = re.compile(r"[\w@%+=:,./-]+", re.ASCII)
_UNIT = """{mark}
[Unit]
Description={description}
{after}
[Service]
Type=exec
{user}EnvironmentFile={environment}
ExecStart={command}
KillMode=process
KillSignal=SIGTERM
TimeoutStopSec=20
OOMPolicy=continue
Restart=on-failure
RestartSec=5
RestartPreventExitStatus={no_use}
Delegate=yes
TasksMax=infinity
LimitNOFILE=65536
UMask=0077

[Install]
WantedBy={target}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a unit is to run."""

    name: str
    """Of the unit, without `.service`."""
    description: str
    command: Sequence[str]
    environment: Path
    """A file with the variables, among them TENUTO_HOME. No secret stands in it."""
    run_as: str = ""
    """The user of a unit of the system; empty for a unit of one's own."""
    no_use: Sequence[int] = (2,)
    """Exit codes after which starting again is no use."""


def unit_of(service: Service) -> str:
    """The unit file."""
    system = bool(service.run_as)
    return _UNIT.format(
        mark=MARK,
        description=service.description,
        # The manager of a user's own units knows nothing of the network.
        after="Wants=network-online.target\nAfter=network-online.target\n" if system else "",
        user=f"User={service.run_as}\n" if system else "",
        environment=str(service.environment).replace("%", "%%"),
        command=" ".join(map(_argument, service.command)),
        no_use=" ".join(map(str, service.no_use)),
        target="multi-user.target" if system else "default.target",
    )


def environment_of(variables: Mapping[str, str]) -> str:
    """The file with the variables."""
    lines = [f"{name}={_value(value)}" for name, value in variables.items()]
    return "\n".join([MARK, *lines, "# Settings may follow, such as TENUTO_SERVING_PORT=8080", ""])


def _argument(text: str) -> str:
    """A word of a command line as systemd reads it."""
    escaped = text.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    return '"' + re.sub(r'(["\\$`])', r"\\\1", text) + '"'
