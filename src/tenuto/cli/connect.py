"""How a command finds its server: by option or environment, else in the home directory of this machine."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.client.whereabouts import URL, locate
from tenuto.errors import Unreachable

if TYPE_CHECKING:
    from tenuto.client.plain import PlainClient

PATIENCE = 2.0
"""Seconds for which a server that was lost is tried again if nothing else is said."""
_PAUSE = 0.2


ServerOption = Annotated[
    str | None,
    typer.Option("--server", envvar=URL, metavar="URL", help="The server; else the one of this machine."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")]
JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="A job's id, the beginning of it, or its name.")
]


def connect(server: str | None = None, *, patience: float | None = None) -> PlainClient:
    """A client of the server that is meant; waits for one to appear only if told for how long."""
    until = time.monotonic() + (patience or 0.0)
    while True:
        try:
            address = locate(server, os.environ)
            break
        except Unreachable:
            if time.monotonic() + _PAUSE > until:
                raise
        time.sleep(_PAUSE)
    from tenuto.client.plain import PlainClient  # help and completion need no HTTP

    find_again = None if server else lambda: locate(None, os.environ)
    return PlainClient(*address, patience=max(until - time.monotonic(), PATIENCE), find_again=find_again)
