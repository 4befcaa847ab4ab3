"""How a command finds its server: by option or environment, else in the home directory of this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, NamedTuple
from urllib.parse import urlsplit

import typer

from tenuto.cli.home import Home, read_secret
from tenuto.errors import InputInvalid, NotAllowed, Unreachable

if TYPE_CHECKING:
    from tenuto.client import Client

URL, TOKEN = "TENUTO_URL", "TENUTO_TOKEN"
PATIENCE = 2.0
"""Seconds for which a server that was lost is tried again if nothing else is said."""
_PAUSE = 0.2


class Address(NamedTuple):
    """Where a server is, and what opens its door."""

    url: str
    token: str


ServerOption = Annotated[
    str | None,
    typer.Option("--server", envvar=URL, metavar="URL", help="The server; else the one of this machine."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")]
JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="A job's id, the beginning of it, or its name.")
]


def connect(server: str | None = None, *, patience: float | None = None) -> Client:
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
    from tenuto.client import Client  # help and completion need no HTTP

    find_again = None if server else lambda: locate(None, os.environ)
    return Client(*address, patience=max(until - time.monotonic(), PATIENCE), find_again=find_again)


def locate(server: str | None, environment: Mapping[str, str]) -> Address:
    """Address and token. Raises Unreachable if no server is known, NotAllowed if no token is."""
    home = Home.named_by(environment)
    told = home.server_file()
    if server:
        url = checked_url(server)
    elif told is None or told.pid is None:
        raise Unreachable(
            "no server runs on this machine",
            remedy=f"Start one with: tenuto up. Or name another machine's with --server or {URL}",
        )
    else:
        url = told.url
    token = environment.get(TOKEN) or read_secret(home.token)
    if not token:
        raise NotAllowed(
            f"there is no token for {url}", remedy=f"Put it into the environment variable {TOKEN}"
        )
    return Address(url, token)


def checked_url(server: str) -> str:
    """A URL; a host and a port alone are meant as HTTP."""
    url = server if "://" in server else f"http://{server}"
    parts = urlsplit(url)
    try:
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputInvalid(
            f"{server!r} is no address of a server",
            remedy="Write it like http://gpu-box:8080",
            field="server",
        )
    return url.rstrip("/")
