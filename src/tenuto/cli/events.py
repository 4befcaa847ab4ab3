"""`tenuto events`: what happened to jobs and nodes, by whom, and why."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.humane import clock, in_local_time, parsed
from tenuto.cli.printing import console, print_json, print_json_line, print_list, say, table_of
from tenuto.cli.read_reply import events_of
from tenuto.terminal_text import safe_line
from tenuto.wire.records import RESCALE

if TYPE_CHECKING:
    from tenuto.client.plain import Json
    from tenuto.wire.replies import EventOut

EXAMPLES = "Examples: tenuto events · tenuto events train -f · tenuto events --kind promise --json"
OPENED = "open"
"""The first message of a stream tells where it begins, and no event."""
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
        _say_gap(page.get("gap"))
        if not follow:
            _print(page, as_json)
            return
        found = page["items"]
        tell(found, as_json)
        client.patience = math.inf
        last = found[-1]["id"] if found else after or 0
        for frame in client.follow(**query, after=last):
            if frame.name == OPENED:
                _say_gap(frame.json().get("gap"))
            else:
                tell([frame.json()], as_json)


def _say_gap(gap: bool | None) -> None:
    if gap:
        say("older events were removed; see the settings retention.events and retention.event_seconds")


def _print(page: Json, as_json: bool) -> None:
    if as_json:
        print_json(page)
    else:
        print_list(table_of(COLUMNS, _rows(page["items"])))


def tell(found: Sequence[Json], as_json: bool) -> None:
    """Print events that come one by one. They stand in no table: its columns would move."""
    if as_json:
        for event in found:
            print_json_line(event)
        return
    out = console()
    for row in _rows(found):
        out.print("  ".join(safe_line(cell) for cell in row if cell), markup=False, soft_wrap=True)


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
