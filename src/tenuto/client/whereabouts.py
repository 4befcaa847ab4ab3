"""Where the server is: by its URL and a token, else by the files that the one of this machine has left in its home."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from tenuto.errors import InputInvalid, NotAllowed, Unreachable
from tenuto.sim.data_home import home as data_directory

if TYPE_CHECKING:
    from tenuto.client.ask import Line

URL, TOKEN = "TENUTO_URL", "TENUTO_TOKEN"
SERVER_FILE, TOKEN_FILE = "server.json", "token"


class Address(NamedTuple):
    """Where a server is, and what opens its door."""

    url: str
    token: str


@dataclass(frozen=True, slots=True)
class ServerFile:
    """What the last server of a home left about itself."""

    url: str
    pid: int | None
    """None if it has ended in good order."""
    port: int
    store: str = ""
    """Which store it used, without passwords."""
    log: str = ""
    """Its own log."""


def read_server_file(path: Path) -> ServerFile | None:
    """What the last server of a home left about itself, if anything."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        url, pid, port = str(told["url"]), told["pid"], int(told["port"])
        return ServerFile(url, pid, port, **{name: str(told.get(name, "")) for name in ("store", "log")})
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None


def read_secret(path: Path) -> str | None:
    """The secret in a file, if there is one."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except FileNotFoundError:
        return None


def locate(server: str | None, environment: Mapping[str, str]) -> Address:
    """Address and token. Raises Unreachable if no server is known, NotAllowed if no token is."""
    home = data_directory(environment).absolute()
    told = read_server_file(home / SERVER_FILE)
    if server:
        url = checked_url(server)
    elif told is None or told.pid is None:
        raise Unreachable(
            "no server runs on this machine",
            remedy=f"Start one with: tenuto up. Or name another machine's with --server or {URL}",
        )
    else:
        url = told.url
    token = environment.get(TOKEN) or read_secret(home / TOKEN_FILE)
    if not token:
        raise NotAllowed(
            f"there is no token for {url}", remedy=f"Put it into the environment variable {TOKEN}"
        )
    return Address(url, token)


def line_to(url: str | None, token: str | None, patience: float) -> Line:
    """The line to a server; without a URL to the one that the environment means, else to that of this machine."""
    from tenuto.client.ask import Line  # whoever only wants to know where it is needs no HTTP

    named = url or os.environ.get(URL)
    if named and token:
        return Line(checked_url(named), token, patience=patience)

    def find() -> Address:
        found = locate(named, os.environ)
        return found if token is None else found._replace(token=token)

    return Line(*find(), patience=patience, find_again=None if named else find)


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
