"""`tenuto policy shadow`: policies that decide along without acting, and what they would have done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenuto.cli.connect import JsonOption, ServerOption, connect
from tenuto.cli.humane import parsed, relative, span
from tenuto.cli.pairs import values
from tenuto.cli.printing import print_json, print_list, say, table_of, write_text
from tenuto.errors import InputInvalid
from tenuto.terminal_text import safe_line

if TYPE_CHECKING:
    from tenuto.client.plain import Json

EXAMPLES = (
    "Examples: tenuto policy shadow elasticflow,themis · tenuto policy shadow gandiva --set quantum=90 · "
    "tenuto policy shadow --since 1d · tenuto policy shadow --off"
)
COLUMNS = (
    *("", "jobs", "admitted", "declined", "promises kept", "missed", "in time", "late"),
    *("mean wait", "median", "mean completion", "median", "rescales", "used"),
)
MOST_TOLD = 10
"""Differences of each policy that are printed; --json has more."""


def shadow(
    names: Annotated[
        str | None,
        typer.Argument(metavar="[NAMES]", help="Policies, separated by commas; else the report is shown."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[POLICY.]KEY=VALUE", help="Set one of them differently; repeatable."),
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Let none decide along any more.")] = False,
    report: Annotated[
        bool, typer.Option("--report", help="Show what they would have done; so also without NAMES.")
    ] = False,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="Jobs from then on: 1d ago; 7d is the most.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let policies decide along without acting, and tell what they would have done.

    Each lives in a world of its own, in which the same jobs, wishes and nodes come and go as they really did.
    """
    _check(names, settings or (), off=off, report=report, since=since)
    with connect(server) as client:
        if names is not None or off:
            told = client.set_shadows([] if off else _wishes(names or "", settings or ()))
        else:
            from tenuto.wire.job_file import in_local_zone

            told = client.shadows(since=None if since is None else in_local_zone(since))
    if as_json:
        print_json(told)
    elif names is not None or off:
        _print_who(told)
    else:
        _print_report(told)


def _check(names: str | None, settings: Sequence[str], *, off: bool, report: bool, since: str | None) -> None:
    if sum((names is not None, off, report or since is not None)) > 1:
        raise InputInvalid("NAMES, --off and --report are three different things", remedy="Give one of them")
    if settings and names is None:
        raise InputInvalid("--set says how a policy is set", remedy="Name the policy as well")


def _wishes(names: str, settings: Iterable[str]) -> list[Json]:
    policies = [name.strip() for name in names.split(",") if name.strip()]
    if not policies:
        raise InputInvalid("no policy is named", remedy="`tenuto policies` lists them")
    own: dict[str, dict[str, Any]] = {name: {} for name in policies}
    for key, value in values(settings).items():
        owner, dot, setting = key.rpartition(".")
        if not dot and len(policies) > 1:
            remedy = f"Write e.g. --set {policies[0]}.{key}=…"
            raise InputInvalid(f"--set {key} does not say of which policy", remedy=remedy)
        if dot and owner not in own:
            remedy = f"Named are {', '.join(policies)}"
            raise InputInvalid(f"{owner} is to be set, but not to decide along", remedy=remedy)
        own[owner if dot else policies[0]][setting] = value
    return [{"name": name, "settings": own[name]} for name in policies]


def _print_who(told: Json) -> None:
    names = [one["policy"] for one in told["shadows"]]
    if not names:
        say("No policy decides along.")
        return
    alone = "s" if len(names) == 1 else ""
    say(f"{', '.join(names)} decide{alone} along now, and never act{alone}.")
    say("See what comes of it: tenuto policy shadow --report")


def _print_report(told: Json) -> None:
    if not told["shadows"]:
        say("No policy decides along. Let one: tenuto policy shadow themis")
        return
    now = datetime.now().astimezone()
    rows = [_row(f"{told['in_force']}, really", told["really"])]
    rows += [_row(one["policy"], one["tally"]) for one in told["shadows"]]
    say(f"Jobs that arrived since {parsed(told['since']):%a %-d %b %H:%M}")
    print_list(table_of(COLUMNS, rows))
    for one in told["shadows"]:
        _print_differences(one, told["really"], now)
    _print_remarks(told)


def _row(name: str, tally: Json | None) -> tuple[str, ...]:
    if tally is None:
        return (name, *("-" for _ in COLUMNS[1:]))
    counts = (tally[key] for key in ("jobs", "admitted", "declined", "kept", "missed", "in_time", "late"))
    times = (tally[key] for key in ("mean_wait", "median_wait", "mean_completion", "median_completion"))
    used = tally["utilisation"]
    return (
        name,
        *(f"{count:,}" for count in counts),
        *("-" if seconds is None else span(seconds) for seconds in times),
        f"{tally['rescales']:,}",
        "-" if used is None else f"{used:.0%}",
    )


def _print_differences(one: Json, really: Json | None, now: datetime) -> None:
    if one["problem"]:
        say(f"{one['policy']} cannot decide: {one['problem']}")
        return
    if one["as_of"] is None:
        say(f"{one['policy']} has not decided yet; ask again in a while.")
        return
    held = "" if really is None else f" would have held {_deadlines(one['tally'], really)}"
    write_text(f"\n{one['policy']}{held} (as of {relative(parsed(one['as_of']), now)}):\n")
    for difference in one["differences"][:MOST_TOLD]:
        write_text(safe_line(f"  {difference['name']} ({difference['job']}) {difference['text']}") + "\n")
    if not one["differences"]:
        write_text("  no job would have fared differently to speak of\n")


def _deadlines(tally: Json, really: Json) -> str:
    """How many deadlines more or fewer."""
    more = tally["in_time"] - really["in_time"]
    if not more:
        return "as many deadlines"
    return f"{abs(more):,} {'more' if more > 0 else 'fewer'} deadline{'' if abs(more) == 1 else 's'}"


def _print_remarks(told: Json) -> None:
    from tenuto.lab.past_words import REASONS

    for what, counts in (("not quite as they were", told["guesses"]), ("left out", told["left_out"])):
        for reason, count in sorted(counts.items()):
            say(f"{count:,} {what}: {REASONS.get(reason, reason)}")
    if told["more"]:
        say("There were more jobs than are looked at; the oldest are missing.")
