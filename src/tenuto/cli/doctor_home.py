"""What `tenuto doctor` looks at beside the machine: the home, its store, the server that runs on it, and the clocks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from stat import S_IMODE
from typing import TYPE_CHECKING

import tenuto
from tenuto.cli.home import PRIVATE_DIRECTORY, Home
from tenuto.doctor.directories import find_directory
from tenuto.doctor.finding import Finding, Status
from tenuto.doctor.store_file import find_store
from tenuto.errors import TenutoError, Unreachable
from tenuto.store.migrate import HEAD

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

_SKEW = 2.0
"""Seconds by which clocks may differ before times mislead."""


def find_home(home: Home) -> Iterator[Finding]:
    """Whether the home can be used, and what is in it."""
    if not home.path.exists():
        yield _not_made_yet(home.path)
        return
    yield from find_directory("home", home.path)
    if home.path.is_dir():
        if (mode := S_IMODE(home.path.stat().st_mode)) != PRIVATE_DIRECTORY:
            yield Finding(
                topic="home",
                name="permissions",
                status=Status.WARNING,
                told=f"{mode:03o}: others may look into {home.path}, where the tokens lie",
                remedy=f"chmod 700 {home.path}; tenuto up does it, too",
            )
        yield find_store("home", Path(home.store_url.removeprefix("sqlite:///")), HEAD)
        yield _port(home)


def _not_made_yet(path: Path) -> Finding:
    above = next(parent for parent in path.parents if parent.exists())
    looked_at = next(iter(find_directory("home", above)))
    if looked_at.status is Status.OK:
        return Finding(topic="home", name=str(path), told="not made yet; tenuto up makes it")
    return Finding(
        topic="home",
        name=str(path),
        status=Status.PROBLEM,
        told=f"cannot be made, because {above} {looked_at.told}",
        remedy="Name a directory of your own in TENUTO_HOME",
    )


def _port(home: Home) -> Finding:
    """The port of the server, or of the last one."""
    last = home.server_file()
    if last is None:
        return Finding(topic="home", name="port", told="none yet; the system chooses one that is free")
    with socket.socket() as probe:
        probe.settimeout(2.0)
        listens = probe.connect_ex(("127.0.0.1", last.port)) == 0
    if not listens:
        told = f"{last.port}, that of last time, is free"
        return Finding(topic="home", name="port", told=told, value=last.port, unit="port")
    taken = not home.is_served()
    return Finding(
        topic="home",
        name="port",
        status=Status.WARNING if taken else Status.OK,
        told=f"{last.port} is in use by {'another program' if taken else 'the server'}",
        remedy="The next server takes another one, unless --port names this" if taken else "",
        value=last.port,
        unit="port",
    )


def find_server(client: PlainClient) -> Iterator[Finding]:
    """How the server is, and whether it is of this version and agrees about the time."""
    url = client.address[0]
    before = time.time()
    try:
        cluster = client.cluster()
    except TenutoError as error:
        yield Finding(
            topic="server", name="server", status=Status.PROBLEM, told=_said(error), remedy=error.remedy
        )
        return
    yield Finding(topic="server", name="server", told=f"answers at {url}")
    yield _version(cluster["version"])
    yield _readiness(client, cluster)
    yield _clock(cluster["now"], before, time.time())


def no_server(home: Home) -> Finding:
    """None runs, which is fine unless it was to be asked for its nodes."""
    if home.is_served():
        told = "one holds the lock of the home, but does not say where it listens yet"
        return Finding(topic="server", name="server", status=Status.WARNING, told=told)
    last = home.server_file()
    if last is not None and last.pid is not None:
        return Finding(
            topic="server",
            name="server",
            status=Status.PROBLEM,
            told=f"none runs at {last.url}, although one should run: process {last.pid} has ended unexpectedly",
            remedy="Start one with: tenuto up",
        )
    return Finding(topic="server", name="server", told="none runs here; tenuto up starts one")


def _version(theirs: str) -> Finding:
    same = theirs == tenuto.__version__
    return Finding(
        topic="server",
        name="version",
        status=Status.OK if same else Status.WARNING,
        told=f"{theirs}, as here" if same else f"{theirs}, but {tenuto.__version__} here",
        remedy="" if same else "Install the same version on both, and start the server again",
    )


def _readiness(client: PlainClient, cluster: Json) -> Finding:
    try:
        ready = client.ready()
    except TenutoError as error:
        passes = cluster["draining"] or cluster["controller"]["state"] == "compiling"
        return Finding(
            topic="server",
            name="readiness",
            status=Status.WARNING if passes else Status.PROBLEM,
            told=_said(error),
            remedy="Wait a little" if passes else "tenuto server log tells more",
        )
    told, warning = "takes work; a controller decides", ready.get("warning")
    if warning:
        remedy = "Monitoring goes on in memory; tenuto server log tells more"
        return Finding(
            topic="server",
            name="readiness",
            status=Status.WARNING,
            told=f"{told}; but {warning}",
            remedy=remedy,
        )
    return Finding(topic="server", name="readiness", told=told)


def _clock(now: str, before: float, after: float) -> Finding:
    """The server's clock against ours; it told the time somewhere between the two moments."""
    theirs = datetime.fromisoformat(now).timestamp()
    ahead = theirs - (before + after) / 2
    off = max(abs(ahead) - (after - before) / 2, 0.0)
    well = off <= _SKEW
    return Finding(
        topic="server",
        name="clock",
        status=Status.OK if well else Status.WARNING,
        told=f"{abs(ahead):.1f} s {'behind' if ahead > 0 else 'ahead of'} the server's",
        remedy="" if well else "Let both machines set their clocks by NTP: timedatectl set-ntp true",
        value=-ahead,
        unit="seconds",
    )


def _said(error: TenutoError) -> str:
    told = str(getattr(error, "problem", error))
    return f"{told}, although one should run" if isinstance(error, Unreachable) else told
