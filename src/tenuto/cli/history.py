"""`tenuto history`: the platform's own past, counted, or as a trace that `tenuto replay` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.humane import parsed
from tenuto.cli.printing import (
    console,
    facts_of,
    print_facts,
    print_json,
    print_list,
    say,
    table_of,
    write_text,
)
from tenuto.errors import InputInvalid
from tenuto.lab.past_words import REASONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenuto.client.plain import Json, PlainClient

PAGE = 500
ENDS = ("succeeded", "failed", "cancelled", "lost", "declined")
PROMISES = ("kept", "broken")
app = typer.Typer(
    name="history",
    help="Count the jobs of the past, and export them as a trace that `tenuto replay` reads.",
    invoke_without_command=True,
    rich_markup_mode=None,
)

SinceOption = Annotated[
    str, typer.Option("--since", metavar="WHEN", help="From then on: 30d ago, 12h ago, or a date and time.")
]
UntilOption = Annotated[
    str | None, typer.Option("--until", metavar="WHEN", help="Before then; now, if not said.")
]


@app.callback(
    epilog="Examples: tenuto history --since 90d · tenuto history export --since 30d --out november"
)
def history(
    context: typer.Context,
    since: SinceOption = "30d",
    until: UntilOption = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the jobs of the past, and export them as a trace that `tenuto replay` reads."""
    if context.invoked_subcommand is not None:
        _nothing_before(context)
        return
    with connect(server) as client:
        jobs = _all_jobs(client, _span(since, until))
    weeks = _weeks(jobs)
    if as_json:
        print_json({"jobs": len(jobs), "weeks": weeks})
    else:
        columns = ("week of", "jobs", *ENDS, "other", *PROMISES)
        print_list(table_of(columns, [_cells(week) for week in weeks]))


def _nothing_before(context: typer.Context) -> None:
    """Refuse options that stand before the command below, where they would mean nothing to it."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    if any(source is not None and source.name == "COMMANDLINE" for source in sources.values()):
        below = context.invoked_subcommand
        raise InputInvalid(
            f"options of {below} stand behind it", remedy=f"Write tenuto history {below} --since …"
        )


@app.command(epilog="Example: tenuto history export --since 30d --out november")
def export(
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The directory to write; it is made.")
    ],
    since: SinceOption = "30d",
    until: UntilOption = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Tell neither names nor owners, nor ids or nodes.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite an earlier export.")] = False,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the jobs of the past as a trace, with their curves, the cluster and what changes cost.

    It ends with the command that replays them, under the policy in force and another one.
    """
    from tenuto.cli.history_files import check_free, write
    from tenuto.lab.past_export import command, export_of

    check_free(out, force=force)
    with connect(server) as client:
        query = _span(since, until)
        jobs = _all_jobs(client, query)
        time = client.history_cluster(**query)
    made = export_of(jobs, time, anonymous=anonymous)
    write(made, out)
    about, ready = made.about(), command(out, time)
    if as_json:
        print_json(about | {"out": str(out), "command": ready})
    else:
        _print(about, ready, out)


def _span(since: str, until: str | None) -> Json:
    from tenuto.wire.job_file import in_local_zone

    return {"since": in_local_zone(since), "until": None if until is None else in_local_zone(until)}


def _all_jobs(client: PlainClient, query: Mapping[str, Any]) -> list[Json]:
    """Every job of a time, oldest first."""
    found: list[Json] = []
    cursor: str | None = ""
    with _counting() as count:
        while cursor is not None:
            page = client.history(**query, cursor=cursor, limit=PAGE)
            found += page["items"]
            cursor = page["next"]
            count(len(found))
    return found[::-1]


@contextmanager
def _counting() -> Iterator[Callable[[int], None]]:
    """Tell somebody at a terminal how many jobs have come."""
    out = console(error=True)
    if not out.is_terminal:
        yield lambda _: None
        return
    with out.status("reading the past") as status:
        yield lambda count: status.update(f"reading the past: {count:,} jobs")


def _print(about: Json, ready: str, out: Path) -> None:
    nodes = f"{about['nodes']} with {about['slots']} slots"
    if about["nodes_changes"]:
        share = f"{about['nodes_share']:.0%}"
        nodes += f"; they changed {about['nodes_changes']} times, these were there {share} of the time"
    print_facts(
        facts_of(
            {
                "written to": str(out),
                "jobs": f"{about['jobs']:,}, with {about['curves']:,} different curves",
                "nodes": nodes,
            }
        )
    )
    for what, counts in (("not quite as they were", about["guesses"]), ("left out", about["left_out"])):
        for reason, count in sorted(counts.items()):
            say(f"{count:,} {what}: {REASONS.get(reason, reason)}")
    say("Replay it with:")
    write_text(f"{ready}\n")


def _weeks(jobs: Sequence[Json]) -> list[Json]:
    """Counts by the week of submission, oldest first, in the zone of this machine."""
    weeks: dict[str, Json] = {}
    for job in jobs:
        day = parsed(job["submitted_at"])
        monday = (day - timedelta(days=day.weekday())).date().isoformat()
        week = weeks.setdefault(
            monday, {"week": monday, "jobs": 0, "states": Counter(), "promises": Counter()}
        )
        week["jobs"] += 1
        week["states"][job["state"]] += 1
        week["promises"][job["promise"]] += 1
    return list(weeks.values())


def _cells(week: Json) -> tuple[str, ...]:
    states, promises = week["states"], week["promises"]
    other = week["jobs"] - sum(states[state] for state in ENDS)
    monday = datetime.fromisoformat(week["week"])
    counts = (week["jobs"], *(states[one] for one in ENDS), other, *(promises[one] for one in PROMISES))
    return (f"{monday.day} {monday:%b %Y}", *(f"{count:,}" if count else "-" for count in counts))
