"""`tenuto ps`: which jobs there are and how they are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from time import sleep as pause
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.job_tables import jobs_table
from tenuto.cli.pairs import pairs
from tenuto.cli.printing import console, print_json, print_list, say
from tenuto.cli.read_reply import job_of
from tenuto.errors import InputInvalid
from tenuto.model.phase import ENDED, Phase
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = "Examples: tenuto ps · tenuto ps -a --state failed --limit 20 · tenuto ps -l team=vision --json"
WATCH_EVERY = 2.0


def ps(
    all_jobs: Annotated[bool, typer.Option("--all", "-a", help="Also those that have ended.")] = False,
    wide: Annotated[bool, typer.Option("--wide", "-w", help="More columns.")] = False,
    states: Annotated[
        list[str] | None, typer.Option("--state", metavar="STATE", help="Only these; repeatable.")
    ] = None,
    owner: Annotated[str | None, typer.Option("--owner", metavar="USER", help="Only this user's.")] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", "-l", metavar="KEY=VALUE", help="Only those labelled so; repeatable."),
    ] = None,
    text: Annotated[
        str | None, typer.Option("--text", metavar="TEXT", help="Only with this in the name, or this id.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="Jobs on a page.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", metavar="NEXT", help="Go on where the last page ended.")
    ] = None,
    queues: Annotated[
        bool, typer.Option("--queues", help="All jobs as JSON in three lists: waiting, running, finished.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="With --queues: a file for each list in this directory."),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Show it anew every two seconds.")] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the jobs, newest first."""
    query = {
        "state": _states(states or [], all_jobs=all_jobs),
        "owner": owner,
        "label": [f"{key}={value}" for key, value in pairs(labels or [], "--label").items()],
        "text": text,
        "limit": limit,
        "cursor": cursor,
    }
    with connect(server) as client:
        if queues or out:
            _export(client, {**query, "state": _states(states or [], all_jobs=True)}, out)
            return
        if watch:
            _watch(lambda: client.jobs(**query), wide)
            return
        page = client.jobs(**query)
    if as_json:
        print_json(page)
        return
    print_list(_table(page, wide))
    if not page["items"]:
        say(
            "No job is there."
            if all_jobs
            else "No job waits or runs; tenuto ps --all also lists those that have ended."
        )
    if page["next"]:
        say(f"There are more: tenuto ps … --cursor {page['next']}")


def _export(client: PlainClient, query: Json, out: Path | None) -> None:
    from tenuto.cli.queues import print_queues, write_queues

    if out is None:
        print_queues(client, query)
        return
    for name, count in write_queues(client, query, out).items():
        say(f"{out / name}.json has {count} job{'' if count == 1 else 's'}.")


def _states(wanted: list[str], *, all_jobs: bool) -> list[str]:
    """The states that are meant; those that have not ended if nothing is said."""
    known = [str(phase) for phase in Phase]
    named = [part.strip().lower() for one in wanted for part in one.split(",")]
    for name in named:
        if name not in known:
            raise InputInvalid(
                f"there is no state {name!r}",
                remedy=f"{did_you_mean(name, known)}Known are {', '.join(known)}",
                field="state",
            )
    if named or all_jobs:
        return named
    return [str(phase) for phase in Phase if phase not in ENDED]


def _table(page: Json, wide: bool) -> Any:
    jobs = [job_of(job) for job in page["items"]]
    return jobs_table(jobs, datetime.now().astimezone(), wide=wide)


def _watch(look: Callable[[], Json], wide: bool) -> None:
    """Show the list until somebody presses Ctrl-C."""
    from rich.live import Live  # only those who watch need it

    with Live(console=console(), auto_refresh=False) as live:
        while True:
            live.update(_table(look(), wide), refresh=True)
            try:
                pause(WATCH_EVERY)
            except KeyboardInterrupt:
                return
