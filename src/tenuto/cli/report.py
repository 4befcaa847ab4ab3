"""`tenuto report`: what became of promises and forecasts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.humane import clock, parsed, span
from tenuto.cli.printing import facts_of, print_facts, print_json

if TYPE_CHECKING:
    from tenuto.client.plain import Json

EXAMPLES = "Examples: tenuto report · tenuto report --since 30d --json"


def report(
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="From when on: 7d, 12h, or a date with its zone.")
    ] = "7d",
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report which promises were kept and which were broken and why, and how well ends were foretold.

    Counted are the jobs that ended since then, and the promises of those on their way.
    """
    with connect(server) as client:
        told = client.report(since=since)
    if as_json:
        print_json(told)
        return
    now = datetime.now().astimezone()
    ended = ", ".join(f"{count} {state}" for state, count in told["ended"].items())
    print_facts(
        facts_of(
            {
                "since": clock(parsed(told["since"]), now),
                "ended": ended or "no job",
                "promises": _promises(told["promises"]),
                "broken by": _causes(told["promises"]["broken_by"]),
                "declined": _causes(told["declined"]) or "none",
                "told at the answer": _held(told["forecasts"]["answered"]),
                "told at the start": _held(told["forecasts"]["started"]),
                "rescales": str(told["rescales"]),
                "slots in use": _use(told["slots"]),
            }
        )
    )


def _promises(promises: Json) -> str:
    past = f"{promises['kept']} kept, {promises['broken']} broken, {promises['withdrawn']} withdrawn"
    risk = f", {promises['at_risk']} of them at risk" if promises["at_risk"] else ""
    return f"{past}; {promises['open']} open{risk}"


def _causes(causes: list[Json]) -> str:
    """One line for each, with the first jobs that it happened to."""
    lines = []
    for cause in causes:
        named = ", ".join(f"{job['name']} ({job['id']})" for job in cause["jobs"])
        more = " …" if cause["count"] > len(cause["jobs"]) else ""
        lines.append(f"{cause['count']} x {cause['cause'].replace('_', ' ')}: {named}{more}")
    return "\n".join(lines)


def _held(held: Json) -> str:
    if not held["jobs"]:
        return "no job of which an end was foretold has succeeded"
    jobs = "1 job" if held["jobs"] == 1 else f"{held['jobs']} jobs"
    late = held["mean_delay"]
    by = (
        f"{span(abs(late))} {'late' if late >= 0 else 'early'} on average"
        if abs(late) >= 1
        else "neither early nor late"
    )
    return (
        f"P50 held in {held['p50_held']:.0%} of {jobs}, P90 held in {held['p90_held']:.0%}; "
        f"off by {span(held['mean_error'])}, {by}"
    )


def _use(slots: Json) -> str:
    if slots["used"] is None or not slots["available"]:
        return ""
    return f"about {min(slots['used'] / slots['available'], 1):.0%}"
