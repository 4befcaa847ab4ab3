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
from tenuto.cli.printing import console, facts_of, print_facts, print_json, print_list, say, table_of
from tenuto.errors import InputInvalid

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenuto.cli.history_files import Export
    from tenuto.client.plain import Json, PlainClient

PAGE = 500
ENDS = ("succeeded", "failed", "cancelled", "lost", "declined")
PROMISES = ("kept", "broken")
REASONS = {
    "curve_from_run": "speed from the run, in proportion to the workers: no curve was known",
    "steps_from_run": "steps from the run: nobody knew how many there would be",
    "ended_early": "steps that were done: it failed, was lost or was cancelled",
    "pinned": "only the size that its owner fixed",
    "paused": "without the pauses that it had",
    "deadline_changed": "with the first of its deadlines",
    "waited_for_another": "arrives when the job that it waited for had ended",
    "never_ran": "never ran, and nobody knows how long it takes",
    "cancelled_before_start": "ended before it ever had slots",
    "waits_for_another": "was waiting for another job",
    "deadline_before_start": "its deadline had passed before its turn came",
    "takes_no_slots": "takes no slots, so that no policy decides about it",
    "fits_nowhere": "no size that it can have fits the cluster",
}
"""What the codes of guesses and of jobs that are left out mean."""

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
    from tenuto.cli.history_files import check_free, command, write

    check_free(out, force=force)
    with connect(server) as client:
        query = _span(since, until)
        jobs = _all_jobs(client, query)
        time = client.history_cluster(**query)
    made = _export(jobs, time, anonymous=anonymous)
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


def _export(jobs: Sequence[Json], time: Json, *, anonymous: bool) -> Export:
    from tenuto.cli.history_files import Export
    from tenuto.forecast.past import TraceJob
    from tenuto.forecast.trace_of import cluster_of, told

    ids = {job["id"]: f"job-{number}" if anonymous else job["id"] for number, job in enumerate(jobs, start=1)}

    def row(job: Json) -> TraceJob | str:
        written = job["trace"]
        if written is None:
            return str(job["left_out"])
        return TraceJob(
            id=ids[job["id"]],
            arrived=written["arrived"],
            steps=written["steps"],
            deadline=written["deadline"],
            batch=written["batch"],
            wanted=written["workers"],
            rates=tuple((int(size), rate) for size, rate in written["curve"].items()),
            guesses=frozenset(job["guesses"]),
        )

    try:
        made = told([row(job) for job in jobs], cluster_of(time["nodes"] or {"": 0}, "history"), "history")
    except ValueError:
        raise InputInvalid(
            "no job of that time can be told of",
            remedy="Look with tenuto history, and give an earlier --since",
        ) from None
    return Export(made, jobs, ids, time, anonymous)


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
    typer.echo(ready)


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
