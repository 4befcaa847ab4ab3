"""What is shown, and what a key does to it. Pure: a state and a key give the next state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from tenuto.cli.top.kinds import GPUS, NODES, jobs_table

Json = dict[str, Any]


class View(StrEnum):
    """What fills the screen."""

    ALL = "all"
    NODES = "nodes"
    GPUS = "gpus"
    JOBS = "jobs"


@dataclass(frozen=True, slots=True)
class Target:
    """The job or node that is looked into."""

    kind: str
    """`job` or `node`."""
    name: str
    """The job's id, or the node's name."""


ORDERS: Mapping[str, tuple[str, ...]] = {
    "nodes": ("number", *NODES.orders),
    "gpus": GPUS.orders,
    "jobs": jobs_table(datetime.fromtimestamp(0, UTC)).orders,
}
"""By what each table can be sorted."""
FIRST_ORDERS: Mapping[str, str] = {"nodes": "number", "gpus": "node", "jobs": "state"}
MOST_TYPED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What somebody looks at."""

    view: View = View.ALL
    text: str = ""
    """Only rows with this in them."""
    typed: str | None = None
    """A filter that is being typed."""
    orders: Mapping[str, str] = field(default_factory=lambda: dict(FIRST_ORDERS))
    """How each table is sorted."""
    at: int = 0
    """The row that is selected, counted from the first of all."""
    first: int = 0
    """The first row on the screen."""
    target: Target | None = None
    scrolled: int = 0
    """Lines of the details above the screen."""
    paused: bool = False
    helped: bool = False
    over: bool = False

    @property
    def list_name(self) -> str:
        """The table in which a row is selected."""
        return "jobs" if self.view is View.ALL else str(self.view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the server told last."""

    overview: Json | None = None
    query: Json = field(default_factory=dict)
    """What it was asked for."""
    target: Target | None = None
    details: Json | None = None
    """What it told of the target."""
    problem: str = ""
    """Why it tells nothing now."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a key may depend on: how much there is, how much fits, and what is selected."""

    rows: int
    """Of the list, all together."""
    page: int
    """Rows of the list that fit."""
    lines: int = 0
    """Of the details, all together."""
    selected: Target | None = None


def pressed(state: State, key: str, around: Around) -> State:
    """The state after a key."""
    if key == "ctrl-c":
        return replace(state, over=True)
    if state.typed is not None:
        return _typing(state, key)
    if state.helped:
        return replace(state, helped=False, over=key == "q")
    if key in _MOVES:
        return _scrolled(state, key, around) if state.target else _moved(state, key, around)
    return _commanded(state, key, around)


def _typing(state: State, key: str) -> State:
    assert state.typed is not None
    if key == "enter":
        return replace(state, typed=None, at=0, first=0)
    if key == "escape":
        return replace(state, typed=None, text="", at=0, first=0)
    typed = state.typed[:-1] if key == "backspace" else state.typed
    if len(key) == 1 and key.isprintable():
        typed = (state.typed + key)[:MOST_TYPED]
    return replace(state, typed=typed, text=typed, at=0, first=0)


_MOVES = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": 0, "page-down": 0, "home": 0, "end": 0, " ": 0}


def _step(key: str, page: int, total: int) -> int:
    whole = max(page - 1, 1)
    return {"page-up": -whole, "page-down": whole, " ": whole, "home": -total, "end": total}.get(
        key, _MOVES[key]
    )


def _moved(state: State, key: str, around: Around) -> State:
    at = state.at + _step(key, around.page, around.rows)
    return settled(replace(state, at=at), around)


def settled(state: State, around: Around) -> State:
    """With the selected row on the screen, though the list may have become shorter and the screen smaller."""
    at = max(min(state.at, around.rows - 1), 0)
    page = max(around.page, 1)
    first = min(max(state.first, at - page + 1), at)
    first = max(min(first, around.rows - page), 0)
    return replace(state, at=at, first=first)


def _scrolled(state: State, key: str, around: Around) -> State:
    there = state.scrolled + _step(key, around.page, around.lines)
    return replace(state, scrolled=max(min(there, around.lines - around.page), 0))


_VIEWS = dict(zip("ongJ1234", 2 * tuple(View), strict=True))


def _commanded(state: State, key: str, around: Around) -> State:
    match key:
        case "q":
            return replace(state, over=True)
        case "?" | "h" | "f1":
            return replace(state, helped=True)
        case "p":
            return replace(state, paused=not state.paused)
        case "/":
            return replace(state, typed=state.text, target=None)
        case "enter":
            return replace(state, target=around.selected or state.target, scrolled=0)
        case "escape" | "backspace" | "left":
            return replace(state, target=None) if state.target else replace(state, text="")
        case "tab":
            views = list(View)
            return _seen(state, views[(views.index(state.view) + 1) % len(views)])
        case "s" | "S" | "r":
            return _sorted(state, key)
        case _:
            return _seen(state, _VIEWS[key]) if key in _VIEWS else state


def _seen(state: State, view: View) -> State:
    return replace(state, view=view, target=None, at=0, first=0)


def _sorted(state: State, key: str) -> State:
    """By the next column, the one before, or the other way round."""
    name = state.list_name
    order = state.orders[name]
    if key == "r":
        turned = order.removeprefix("-") if order.startswith("-") else f"-{order}"
    else:
        known = ORDERS[name]
        turned = known[(known.index(order.removeprefix("-")) + (1 if key == "s" else -1)) % len(known)]
    return replace(state, orders={**state.orders, name: turned}, at=0, first=0)


def orders_with(column: str) -> dict[str, str]:
    """All tables that can be sorted so, sorted so; the others as usual."""
    return {
        name: column if column.removeprefix("-") in ORDERS[name] else first
        for name, first in FIRST_ORDERS.items()
    }


def row_target(view: View, rows: Sequence[Json], at: int) -> Target | None:
    """What Enter on a row looks into: a job, a node, or the node of a GPU."""
    if not 0 <= at < len(rows):
        return None
    row = rows[at]
    if view in (View.ALL, View.JOBS):
        return Target("job", row["id"])
    return Target("node", row["name"] if view is View.NODES else row["node"])
