"""`tenuto show`: everything about one job."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.job_tables import attempts_table, job_facts, members_table
from tenuto.cli.printing import console, print_facts, print_json, print_list
from tenuto.cli.read_reply import attempts_of, job_of

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

NEWEST = 20
"""Starts of workers that are shown."""
EXAMPLES = "Examples: tenuto show train · tenuto show 4f21 --json"


def show(job: JobArgument, server: ServerOption = None, as_json: JsonOption = False) -> None:
    """Tell everything about a job: its contract, progress and workers, and what was asked for."""
    from tenuto.wire.job_yaml import as_yaml  # not for help

    with connect(server) as client:
        found = client.job(job)
        attempts = _attempts(client, found["id"])
    if as_json:
        print_json({**found, "attempts": attempts})
        return
    now, out, shown = datetime.now().astimezone(), console(), job_of(found)
    print_facts(job_facts(shown, now), out)
    if shown.members:
        out.print()
        print_list(members_table(shown.members))
    if attempts:
        out.print()
        print_list(attempts_table(attempts_of(attempts[-NEWEST:]), now))
    if len(attempts) > NEWEST:
        out.print(f"… and {len(attempts) - NEWEST} earlier ones, which --json lists")
    out.print()
    out.print(as_yaml(found["spec"]), markup=False, end="", soft_wrap=True)


def _attempts(client: PlainClient, job: str) -> list[Json]:
    """Every start of a worker, page by page."""
    page = client.attempts(job)
    found: list[Json] = page["items"]
    while page["next"]:
        page = client.attempts(job, cursor=page["next"])
        found += page["items"]
    return found
