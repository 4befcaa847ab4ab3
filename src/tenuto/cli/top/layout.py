"""The whole screen: a state, what the server told and the size of the terminal give its lines. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from rich.text import Text

from tenuto.cli.top.cells import clean
from tenuto.cli.top.details import details_of
from tenuto.cli.top.header import Heading, banner, footer, header, help_lines
from tenuto.cli.top.kinds import GPUS, NODES, jobs_table
from tenuto.cli.top.model import Around, Json, Seen, State, View, row_target
from tenuto.cli.top.tables import Table

LEAST_WIDTH, LEAST_HEIGHT = 20, 6
NOTHING = {
    "nodes": "No node has joined.",
    "gpus": "No node tells of a GPU.",
    "jobs": "No job waits or runs.",
}


@dataclass(frozen=True, slots=True)
class Size:
    """Of a terminal, in cells."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen full of lines, and what the next key may depend on."""

    lines: list[Text]
    around: Around


@dataclass(frozen=True, slots=True)
class Room:
    """Rows that each table has."""

    nodes: int = 0
    gpus: int = 0
    jobs: int = 0


def room_for(view: View, height: int, of: Json | None = None) -> Room:
    """How a screen is shared out; `of` tells how many rows there are. Of the list that one moves in most is shown."""
    if view is not View.ALL:
        return Room(**{str(view): max(height - 1, 1)})
    known = of or {"nodes": height, "gpus": height, "jobs": height}
    quarter = max((height - 3) // 4, 1)
    nodes, gpus = max(min(known["nodes"], quarter), 1), min(known["gpus"], quarter)
    titles = 3 if gpus else 2
    spare = max(height - titles - nodes - gpus - max(known["jobs"], 1), 0)
    more_gpus = min(known["gpus"] - gpus, spare)
    more_nodes = min(max(known["nodes"] - nodes, 0), spare - more_gpus)
    nodes, gpus = nodes + more_nodes, gpus + more_gpus
    return Room(nodes, gpus, max(height - nodes - gpus - titles, 1))


def query_of(state: State, size: Size) -> Json:
    """What to ask the server for: the rows that may be on the screen, and one screen before and after."""
    body = size.height
    room = room_for(state.view, body)
    name = state.list_name
    query: Json = {"text": state.text}
    for table in ("nodes", "gpus", "jobs"):
        query[table] = min(body, 100) if getattr(room, table) else 0
        query[f"{table}_by"] = state.orders[table]
    query[name] = min(3 * body, 500)
    query[f"{name}_from"] = max(state.first - body, 0)
    return query


def frame_of(state: State, seen: Seen, size: Size, heading: Heading) -> Frame:
    """What the terminal shows."""
    size = Size(max(size.width, LEAST_WIDTH), max(size.height, LEAST_HEIGHT))
    head = header(seen, state, heading, size.width)
    if seen.problem:
        head = [*head, banner(seen.problem, size.width)]
    foot = footer(state, size.width)
    height = max(size.height - len(head) - 1, 1)
    body, around = _body(state, seen, Size(size.width, height), heading.now)
    filled = [*body[:height], *[Text("")] * (height - len(body))]
    return Frame([*head, *filled, foot], around)


def _body(state: State, seen: Seen, size: Size, now: datetime) -> tuple[list[Text], Around]:
    if state.helped:
        return help_lines(size.width), Around(0, size.height)
    if state.target is not None:
        told = seen.details if seen.target == state.target else None
        lines = details_of(state.target, told, size.width, now)
        return lines[state.scrolled :], Around(0, size.height, len(lines))
    if seen.overview is None:
        return [Text("Looking …", style="dim")], Around(0, size.height)
    return _lists(state, seen, seen.overview, size, now)


def _lists(state: State, seen: Seen, told: Json, size: Size, now: datetime) -> tuple[list[Text], Around]:
    room = room_for(state.view, size.height, told["of"])
    tables = {"nodes": NODES, "gpus": GPUS, "jobs": jobs_table(now)}
    name = state.list_name
    lines: list[Text] = []
    for each, table in tables.items():
        rows = getattr(room, each)
        if rows and each != name:
            lines += _table(table, told[each][:rows], size.width, state.orders[each])
            lines += _none(each, told, state)
    page = getattr(room, name)
    rows, told_from = told[name], seen.query.get(f"{name}_from", 0)
    begin = state.first - told_from
    shown = rows[max(begin, 0) : max(begin + page, 0)]
    lines += _table(tables[name], shown, size.width, state.orders[name], state.at - state.first)
    lines += _none(name, told, state)
    selected = row_target(state.view, rows, state.at - told_from)
    return lines, Around(told["of"][name], page, selected=selected)


def whole(state: State, seen: Seen, width: int, heading: Heading) -> list[Text]:
    """Everything that was told, for those who scroll by themselves."""
    assert seen.overview is not None
    lines = header(seen, state, heading, width)
    tables = {"nodes": NODES, "gpus": GPUS, "jobs": jobs_table(heading.now)}
    for name, table in tables.items():
        rows, of = seen.overview[name], seen.overview["of"][name]
        if state.view in (View.ALL, name) and (rows or name != "gpus" or state.view == name):
            lines += [Text(""), *_table(table, rows, width, state.orders[name])]
            lines += _none(name, seen.overview, state)
            lines += [Text(f"… and {of - len(rows)} more", style="dim")] if of > len(rows) else []
    return lines


def _none(name: str, told: Json, state: State) -> list[Text]:
    """Why there are no rows."""
    if told["of"][name]:
        return []
    return [Text(f"Nothing has {clean(state.text)!r} in it." if state.text else NOTHING[name], style="dim")]


def _table(table: Table, rows: list[Json], width: int, order: str, selected: int = -1) -> list[Text]:
    lines = [table.title(width, order)]
    lines += [table.line(row, width, selected=index == selected) for index, row in enumerate(rows)]
    return lines
