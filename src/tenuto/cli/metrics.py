"""`tenuto metrics`: what a job's workers tell of their steps, as a small table with curves of characters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from tenuto.cli.connect import JobArgument, JsonOption, ServerOption, connect
from tenuto.cli.printing import print_json, print_list, say, table_of

if TYPE_CHECKING:
    from tenuto.client import Client, Json

EXAMPLES = "Examples: tenuto metrics train · tenuto metrics train --names loss --every 100 · tenuto metrics 4f21 --json"
COLUMNS = ("worker", "node", "what", "points", "least", "last", "most", "curve")
POINTS = 400
"""Points of each worker that a table is made of, unless somebody says how many steps lie between two."""
WIDTH = 32
BARS = "▁▂▃▄▅▆▇█"
GAP = " "


def metrics(
    job: JobArgument,
    worker: Annotated[
        str | None, typer.Option("--worker", metavar="ID", help="Only this worker, as `show` names it.")
    ] = None,
    names: Annotated[
        str | None, typer.Option("--names", metavar="A,B", help="Only these of the reported values.")
    ] = None,
    from_step: Annotated[int, typer.Option("--from-step", min=0, help="Leave out earlier steps.")] = 0,
    every: Annotated[
        int | None, typer.Option("--every", min=1, help="Steps between two points at least.")
    ] = None,
    server: ServerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show how fast a job's workers go and what they report.

    Seconds are those of one step; samples/s is told by the first worker for the whole job.
    """
    with connect(server) as client:
        query = {"worker": worker, "names": names, "from_step": from_step}
        apart = every or _apart(client, job, from_step)
        told = all_points(client, job, every=apart, **query)
    if as_json:
        print_json(told)
    elif any(series["points"] for series in told["series"]):
        print_list(table_of(COLUMNS, _rows(told)))
    else:
        say("No worker of this job has told a step; see the chapter on reports in docs/jobs.md.")


def all_points(client: Client, job: str, **query: object) -> Json:
    """All pages of a job's series, put together."""
    told = client.metrics(job, **query)
    series = {one["worker"]: one for one in told["series"]}
    rates = {one["node"]: one for one in told["throughput"]}
    following = told["next"]
    while following is not None:
        page = client.metrics(job, **{**query, "from_step": following})
        for one in page["series"]:
            series.setdefault(one["worker"], {**one, "points": []})["points"].extend(one["points"])
        for one in page["throughput"]:
            known = rates.setdefault(one["node"], {**one, "steps": [], "samples_per_second": []})
            known["steps"].extend(one["steps"])
            known["samples_per_second"].extend(one["samples_per_second"])
        following = page["next"]
    return {**told, "series": list(series.values()), "throughput": list(rates.values()), "next": None}


def _apart(client: Client, job: str, from_step: int) -> int:
    """Steps between two points so that a table is made of a few hundred of them."""
    step = client.job(job)["progress"]["step"] or 0
    return max(1, int(step - from_step) // POINTS)


def _rows(told: Json) -> Iterable[tuple[str, ...]]:
    for rate in told["throughput"]:
        whose = rate["node"] or "all"
        yield ("job" if not rate["node"] else "", whose, *_told("samples/s", rate["samples_per_second"]))
    for series in told["series"]:
        points = series["points"]
        who = (series["worker"].partition(".")[2], series["node"])
        if points:
            yield (*who, *_told("seconds", [point["seconds"] for point in points]))
        for name in dict.fromkeys(name for point in points for name in point["values"]):
            yield (*who, *_told(name, [point["values"].get(name) for point in points]))


def _told(what: str, values: Sequence[float | None]) -> tuple[str, ...]:
    """How many values there are, the smallest, the last and the largest of them, and how they went."""
    known = [value for value in values if value is not None and isfinite(value)]
    if not known:
        return (what, str(len(values)), "", "", "", "")
    numbers = (min(known), known[-1], max(known))
    return (what, str(len(values)), *(f"{number:.4g}" for number in numbers), sparkline(values))


def sparkline(values: Sequence[float | None], width: int = WIDTH) -> str:
    """The course of some values in one line: each character is the mean of its part, a gap where nothing is known."""
    parts = min(width, len(values))
    bounds = [len(values) * part // parts for part in range(parts + 1)] if parts else [0]
    means = [_mean(values[begin:end]) for begin, end in pairwise(bounds)]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    top = len(BARS) - 1
    return "".join(GAP if mean is None else BARS[round((mean - low) / span * top)] for mean in means)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and isfinite(value)]
    return sum(known) / len(known) if known else None
