"""`tenuto down`: drain and stop everything; jobs that were running go on at the next `tenuto up`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tenuto.cli.background import start_in_background
from tenuto.cli.connect import JsonOption, connect
from tenuto.cli.home import Home
from tenuto.cli.local_nodes import anything_left
from tenuto.cli.plan import Plan
from tenuto.cli.printing import print_json, say
from tenuto.cli.still_running import StillRunning, refuse_if_workers_run
from tenuto.cli.up import STORE, read_file, read_variables
from tenuto.client.plain import PlainClient
from tenuto.engines.identity import ProcessIdentity
from tenuto.errors import Unreachable
from tenuto.model.phase import PLACED

_LOOK = 0.2


def down(
    timeout: Annotated[
        float, typer.Option(min=0, help="Seconds to wait; workers have their jobs' grace time to end.")
    ] = 120.0,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: Annotated[
        str | None, typer.Option(envvar=STORE, help="The store, as it was given to up; if no server runs.")
    ] = None,
    config: Annotated[
        Path | None, typer.Option(help="The file of settings, as it was given to up; if no server runs.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Drain and stop the platform on this machine: workers, supervisors and server.

    Jobs that run are told to stop and go on at the next start; nothing is lost. Fails, and names the processes, if
    workers are left that no supervisor knows.
    """
    home = Home.named_by(os.environ)
    until = time.monotonic() + timeout
    stopped = True
    if home.is_served():
        with connect(patience=10.0) as client:
            _confirm(client.cluster(), yes)
            client.down()
            await_end(home, client, until)
    elif anything_left(home):
        say("No server runs; stopping what the last one left.")
        start_in_background(_draining(home, config, store))
        with connect() as client:
            await_end(home, client, until)
    else:
        stopped = False
    refuse_if_workers_run(home)
    home.remove_leftovers()
    if as_json:
        print_json({"stopped": stopped})
    elif stopped:
        say("Everything has stopped; jobs that were not done go on at the next: tenuto up")
    else:
        say(f"Nothing runs on {home.path}.")


def _confirm(cluster: dict[str, Any], yes: bool) -> None:
    running = sum(count for state, count in cluster["jobs"].items() if state in PLACED)
    if running and not yes and sys.stdin.isatty():
        jobs = "1 job is running. Stop it?" if running == 1 else f"{running} jobs are running. Stop them?"
        typer.confirm(jobs, abort=True)


def await_end(home: Home, client: PlainClient, until: float) -> None:
    """Tell how many workers are left until the server has ended, and its process with it."""
    client.patience = 0.0
    last = home.server_file()
    process = ProcessIdentity.of(last.pid) if last and last.pid else None
    told = -1
    while home.is_served() or (process and process.alive()):
        try:
            left = client.cluster()["slots"]["used"]
        except Unreachable:
            left = 0
        if left != told:
            say(_left(left))
            told = left
        if time.monotonic() > until:
            raise StillRunning(
                "not everything has stopped in the time given",
                remedy="The platform goes on stopping; look with tenuto ps, or say tenuto down again",
            )
        time.sleep(_LOOK)


def _left(workers: int) -> str:
    if not workers:
        return "The supervisors are leaving."
    return "1 worker is stopping." if workers == 1 else f"{workers} workers are stopping."


def _draining(home: Home, config: Path | None, store: str | None) -> Plan:
    """Come up only to stop what is left."""
    options = {} if store is None else {"store": {"url": store}}
    variables = read_variables(os.environ)
    return Plan(home=home, file=read_file(config), environment=variables, options=options, draining=True)
