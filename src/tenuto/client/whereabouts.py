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
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}


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
    """Address and token of the named server, else of the one on this machine.

    Raises Unreachable if no server is known, NotAllowed if none of the known tokens belongs to it.
    """
    url = _url_of(server, environment)
    return _with_known_token(url, environment)


def line_to(url: str | None, token: str | None, patience: float) -> Line:
    """The line to a server; without a URL to the one that the environment means, else to that of this machine."""
    from tenuto.client.ask import Line  # finding an address needs no HTTP

    named = url or os.environ.get(URL)

    def find() -> Address:
        if token is None:
            return locate(named, os.environ)
        return Address(_url_of(named, os.environ), token)

    return Line(*find(), patience=patience, find_again=None if named else find)


def _url_of(server: str | None, environment: Mapping[str, str]) -> str:
    if server:
        return checked_url(server)
    running = _running_server(environment)
    if running is None:
        raise Unreachable(
            "no server runs on this machine",
            remedy=f"Start one with: tenuto up. Or name another machine's with --server or {URL}",
        )
    return running.url


def _with_known_token(url: str, environment: Mapping[str, str]) -> Address:
    """The token that belongs to a server, with the address at which that server is known.

    A token is sent only to the server that it came from. That of the home belongs to the server that runs on this
    home; that of the environment to the server in `TENUTO_URL` or, without one, to the server that the user names.
    """
    home = data_directory(environment).absolute()
    given, given_for = environment.get(TOKEN), environment.get(URL)
    if given and not given_for:
        return Address(url, given)
    if given and given_for and _is_same_server(given_for, url):
        return Address(checked_url(given_for), given)
    running, own = _running_server(environment), read_secret(home / TOKEN_FILE)
    if own and running is not None and _is_same_server(running.url, url):
        return Address(running.url, own)
    if given:
        raise NotAllowed(
            f"the token in {TOKEN} belongs to {given_for} and is not sent to {url}",
            remedy=f"Put the token of {url} into {TOKEN}, and {url} into {URL}",
        )
    if own:
        raise NotAllowed(
            f"there is no token for {url}: the one in {home} belongs to the server of this machine",
            remedy=f"Put the token of {url} into the environment variable {TOKEN}, "
            "or leave --server out to use the server of this machine",
        )
    raise NotAllowed(f"there is no token for {url}", remedy=f"Put it into the environment variable {TOKEN}")


def _running_server(environment: Mapping[str, str]) -> ServerFile | None:
    """The server of this home, if its process lives: after its end, another program may listen at its port."""
    last = read_server_file(data_directory(environment).absolute() / SERVER_FILE)
    if last is None or not isinstance(last.pid, int) or last.pid <= 0:
        return None
    try:
        os.kill(last.pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # it lives, and belongs to another user
    return last


def _is_same_server(known: str, named: str) -> bool:
    """Whether two URLs mean one server; the names of this machine's loopback interface are one host."""
    return _origin_of(known) == _origin_of(named)


def _origin_of(url: str) -> tuple[str, str, int, str]:
    parts = urlsplit(checked_url(url))
    host = "localhost" if parts.hostname in _LOOPBACK else parts.hostname or ""
    return parts.scheme, host, parts.port or _PORTS[parts.scheme], parts.path


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
