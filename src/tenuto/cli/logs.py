"""`tenuto logs`: what a job's workers printed."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.log_follow import LogReader, Which, follow_logs, print_logs, rescales_in_place
from tenuto.cli.log_view import LogView
from tenuto.cli.printing import print_json, say
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

EXAMPLES = "Examples: tenuto logs train · tenuto logs -f train --rank 0 · tenuto logs 4f21 --tail 50"
TAIL_WHEN_FOLLOWING = 100


def logs(
    job: JobArgument,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the job ends; begins near the end.")
    ] = False,
    rank: Annotated[int | None, typer.Option("--rank", "-r", min=0, help="Only this worker.")] = None,
    role: Annotated[str | None, typer.Option("--role", metavar="ROLE", help="Only this role.")] = None,
    generation: Annotated[
        int | None, typer.Option("--generation", "--attempt", min=1, help="Only this one; else all.")
    ] = None,
    tail: Annotated[
        int | None, typer.Option("--tail", "-n", min=0, help="Only the last lines of the newest generation.")
    ] = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="As it was printed: no names, no lines put together.")
    ] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a job's workers printed; with several workers, their names stand before the lines.

    A line that was rewritten, such as a progress bar, is shown as it ended.
    """
    if follow and as_json:
        raise InputInvalid("--json and --follow exclude each other", remedy="Leave one of them out")
    which = Which(role=role, rank=rank, generation=generation, tail=tail)
    with connect(server) as client:
        found = client.job(job)
        if as_json:
            print_json(_as_json(client, found, which))
            return
        by_birth = rescales_in_place(found)
        reader = LogReader(client, found["id"], LogView(sys.stdout, raw=raw), which, by_birth)
        if follow:
            _follow(reader, found)
        elif found["generation"]:
            print_logs(reader, found)
        else:
            say(f"{found['name']} is {found['state']}; nothing was printed yet.")


def _as_json(client: PlainClient, job: Json, which: Which) -> Json:
    return client.logs(
        job["id"], role=which.role, rank=which.rank, generation=which.generation, tail=which.tail
    )


def _follow(reader: LogReader, job: Json) -> None:
    """Follow through restarts of the server, until the job's end or Ctrl-C."""
    reader.client.patience = math.inf
    which = reader.which
    if which.generation is None and which.tail is None:
        reader.which = Which(role=which.role, rank=which.rank, tail=TAIL_WHEN_FOLLOWING)
    follow_logs(reader, job, begin=which.generation or job["generation"])
