"""`tenuto top`: what the whole cluster is doing, live in a terminal or once for a file."""

from __future__ import annotations

import os
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.errors import InputInvalid
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from tenuto.cli.top.model import State
    from tenuto.client.plain import PlainClient

EXAMPLES = (
    "Examples: tenuto top · tenuto top --view gpus --sort utilisation · tenuto top --once --filter vision"
)
_AT_ONCE = 100
_AS_JSON = 500
_WIDTH = 140
"""Of what is no terminal."""
VIEWS = ("all", "nodes", "gpus", "jobs")


def top(
    view: Annotated[
        str, typer.Option("--view", metavar="VIEW", help=f"What to begin with: {', '.join(VIEWS)}.")
    ] = "all",
    sort: Annotated[
        str,
        typer.Option("--sort", metavar="COLUMN", help="By which column; -COLUMN is the other way round."),
    ] = "",
    text: Annotated[
        str, typer.Option("--filter", metavar="TEXT", help="Only rows with this in a name, owner or state.")
    ] = "",
    interval: Annotated[
        float, typer.Option("--interval", min=0.2, max=3600.0, help="Seconds between two looks.")
    ] = 2.0,
    once: Annotated[
        bool, typer.Option("--once", help="Print one picture and end, as where there is no terminal.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show nodes, GPUs, jobs and promises live: sort, filter, look into a job or a node. `?` lists the keys."""
    state = _begun(view, sort, text)
    with connect(server) as client:
        if as_json:
            from tenuto.cli.printing import print_json

            print_json(client.overview(**_query(state, _AS_JSON)))
        elif once or not _has_terminal():
            _print(client, state)
        else:
            from tenuto.cli.top.keys import Terminal
            from tenuto.cli.top.loop import show

            show(client, state, interval, Terminal(sys.stdin.fileno(), sys.stdout.fileno()))


def _has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb")


def _begun(view: str, sort: str, text: str) -> State:
    from tenuto.cli.top.model import ORDERS, State, View, orders_with

    if view not in VIEWS:
        raise InputInvalid(
            f"there is no view {view!r}",
            remedy=f"{did_you_mean(view, VIEWS)}Known are {', '.join(VIEWS)}",
            field="view",
        )
    known = sorted({order for name, orders in ORDERS.items() if view in ("all", name) for order in orders})
    if sort and sort.removeprefix("-") not in known:
        raise InputInvalid(
            f"there is no column {sort.removeprefix('-')!r} to sort by",
            remedy=f"{did_you_mean(sort.removeprefix('-'), known)}Known are {', '.join(known)}",
            field="sort",
        )
    return State(view=View(view), text=text, orders=orders_with(sort))


def _query(state: State, rows: int) -> dict[str, object]:
    """Everything of the view, within reason."""
    query: dict[str, object] = {"text": state.text}
    for name, order in state.orders.items():
        query |= {name: rows if state.view in ("all", name) else 0, f"{name}_by": order}
    return query


def _print(client: PlainClient, state: State) -> None:
    from tenuto.cli.console import Console
    from tenuto.cli.top.header import Heading
    from tenuto.cli.top.layout import whole
    from tenuto.cli.top.watch import Wish, look

    out = Console(highlight=False)
    width = out.width if out.is_terminal or os.environ.get("COLUMNS", "").isdigit() else _WIDTH
    out = out if out.is_terminal else Console(highlight=False, width=width)
    seen = look(client, Wish(_query(state, _AT_ONCE)))
    for line in whole(state, seen, width, Heading(client.address[0], datetime.now().astimezone())):
        line.rstrip()
        out.print(line, end="\n", no_wrap=True, crop=True)
