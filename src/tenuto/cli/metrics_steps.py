"""What a job's workers tell of their steps, by step: all pages put together, and as rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from tenuto.cli.sparkline import sparkline

if TYPE_CHECKING:
    from tenuto.client.plain import Json, PlainClient

COLUMNS = ("worker", "node", "what", "points", "least", "last", "most", "curve")
POINTS = 400
"""Points of each worker that a table is made of, unless somebody says how many steps lie between two."""


def all_points(client: PlainClient, job: str, **query: object) -> Json:
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


def apart(client: PlainClient, job: str, from_step: int) -> int:
    """Steps between two points so that a table is made of a few hundred of them."""
    step = client.job(job)["progress"]["step"] or 0
    return max(1, int(step - from_step) // POINTS)


def rows(told: Json) -> Iterable[tuple[str, ...]]:
    """A row for each worker and value, the rates of the job and its nodes first."""
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
