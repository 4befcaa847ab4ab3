"""`tenuto events`: what happened to jobs and nodes, by whom, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime
from time import sleep as pause
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.humane import clock, in_local_time, parsed
from tenuto.cli.printing import console, print_json, print_json_line, print_list, table_of
from tenuto.cli.read_reply import events_of
from tenuto.wire.records import RESCALE

if TYPE_CHECKING:
    from tenuto.client import Client, Json
    from tenuto.wire.replies import EventOut

EXAMPLES = "Examples: tenuto events · tenuto events train -f · tenuto events --kind promise --json"
LOOK_EVERY = 0.5
PHASES = {
    "warm_up": "warm-up",
    "agree": "agree",
    "form": "form",
    "transfer": "transfer",
    "first_step": "first step",
}
"""What a rescale consists of, in its order; warm-up happens while the others train."""
COLUMNS = ("time", "what", "job", "node", "change", "by", "why")


def events(
    job: Annotated[
        str | None, typer.Argument(metavar="[JOB]", help="Only this job's: id, beginning of it, or name.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    node: Annotated[str | None, typer.Option("--node", metavar="NODE", help="Only this node's.")] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only of this kind: phase, scaled …")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="So many of the newest.")] = 50,
    after: Annotated[
        int | None, typer.Option("--after", metavar="ID", help="The oldest behind this id instead.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell what happened, and why. With --follow and --json every event is one line of JSON."""
    with connect(server) as client:
        query: Json = {"job": job, "node": node, "kind": kind}
        begin: Json = {"last": True} if after is None else {"after": after}
        page = client.events(**query, **begin, limit=limit)
        if not follow:
            _print(page, as_json)
            return
        client.patience = math.inf
        _follow(client, query, page["items"], as_json)


def _print(page: Json, as_json: bool) -> None:
    if as_json:
        print_json(page)
    else:
        print_list(table_of(COLUMNS, _rows(page["items"])))


def _follow(client: Client, query: Json, found: list[Json], as_json: bool) -> None:
    seen = 0
    while True:
        for event in found:
            seen = max(seen, event["id"])
            if as_json:
                print_json_line(event)
        if found and not as_json:
            _print_lines(found)
        if not found:
            pause(LOOK_EVERY)
        found = client.events(**query, after=seen, limit=500)["items"]


def _print_lines(found: Iterable[Json]) -> None:
    """Events that come one by one stand in no table: its columns would move."""
    out = console()
    for row in _rows(found):
        out.print("  ".join(cell for cell in row if cell), markup=False, soft_wrap=True)


def _rows(found: Iterable[Any]) -> list[tuple[str, ...]]:
    now = datetime.now().astimezone()
    return [_row(event, now) for event in events_of(found)]


def _row(event: EventOut, now: datetime) -> tuple[str, ...]:
    moment = parsed(event.at)
    time_ = f"{moment:%H:%M:%S}" if moment.date() == now.date() else clock(moment, now)
    arrow = f"{event.before or '-'} → {event.after or '-'}" if event.before or event.after else ""
    why = in_local_time(event.reason, now) + _phases(event)
    return (time_, event.kind, event.job, event.node, arrow, event.actor, why)


def _phases(event: EventOut) -> str:
    """What a rescale spent its time on."""
    if event.kind != RESCALE:
        return ""
    told = ((name, event.data.get(f"{key}_ms")) for key, name in PHASES.items())
    parts = [f"{name} {value:.0f} ms" for name, value in told if isinstance(value, int | float)]
    return f" ({', '.join(parts)})" if parts else ""
