"""`tenuto server`: what the server tells of itself, also when it does not run any more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import sleep as pause
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.home import Home
from tenuto.cli.printing import print_json, say, write_text
from tenuto.errors import InputInvalid, NotFound, Unreachable

if TYPE_CHECKING:
    from tenuto.client.plain import Json

app = typer.Typer(
    name="server",
    help="Look at the server's own log.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
EXAMPLES = "Examples: tenuto server log -f · tenuto server log --tail 200 --grep actor=alice"
LOOK_EVERY = 0.5
_PAGE = 500
Ask = Callable[..., "Json"]
"""Gives a page of the log, as `GET /api/v1/server/log` does."""


@app.callback()
def _group() -> None:
    """Look at the server's own log."""


@app.command(epilog=EXAMPLES)
def log(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    tail: Annotated[
        int, typer.Option("--tail", "-n", min=1, max=100_000, help="So many of the newest lines.")
    ] = 50,
    grep: Annotated[str, typer.Option("--grep", metavar="TEXT", help="Only lines that contain this.")] = "",
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the server's own log: who came and went, what happened to nodes and jobs, by whom, and what went wrong.

    If no server runs on this machine, the log of the last one is read from its file.
    """
    if follow and as_json:
        raise InputInvalid("--json and --follow exclude each other", remedy="Leave one of them out")
    wish = Wish(tail, grep, follow, as_json)
    try:
        with connect(server) as client:
            _show(client.server_log, wish)
    except Unreachable:
        if server:
            raise
        _show(_from_file(Home.named_by(os.environ)), wish)


class Wish(NamedTuple):
    """What is wanted of the log."""

    tail: int
    grep: str
    follow: bool
    as_json: bool


def _show(ask: Ask, wish: Wish) -> None:
    lines, place = _newest(ask, wish)
    if wish.as_json:
        print_json({"items": lines, "next": place})
        return
    _print(lines)
    try:
        while wish.follow:
            page = ask(after=place, grep=wish.grep, limit=_PAGE)
            _print(page["items"])
            moved, place = place != page["next"], page["next"]
            if not moved:
                pause(LOOK_EVERY)
    except KeyboardInterrupt:
        return


def _newest(ask: Ask, wish: Wish) -> tuple[list[str], str]:
    """The newest lines, put together from as many pages as they take, and the place behind them."""
    page = ask(limit=min(wish.tail, _PAGE), grep=wish.grep)
    pages, place, count = [page["items"]], page["next"], len(page["items"])
    while count < wish.tail and page["earlier"]:
        page = ask(limit=min(wish.tail - count, _PAGE), before=page["earlier"], grep=wish.grep)
        pages.append(page["items"])
        count += len(page["items"])
    return [line for items in reversed(pages) for line in items], place


def _print(lines: list[str]) -> None:
    for line in lines:
        write_text(f"{line}\n")


def _from_file(home: Home) -> Ask:
    """The same pages from the file of the last server."""
    from tenuto.server.log_file import lines_after, newest_lines

    last = home.server_file()
    path = Path(last.log) if last and last.log else home.server_log
    if not path.exists():
        raise NotFound(f"there is no log in {path}", remedy="It appears with the first server: tenuto up")
    say(f"No server runs here; this is what the last one left in {path}.")

    def ask(limit: int, grep: str = "", before: str = "", after: str = "") -> Json:
        page = lines_after(path, limit, after, grep) if after else newest_lines(path, limit, before, grep)
        earlier = str(page.earlier) if page.earlier else None
        return {"items": page.lines, "next": str(page.next), "earlier": earlier}

    return ask
