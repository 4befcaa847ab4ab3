"""Numbers over time, as the API gives them: columns of one subject each, and in which unit each value is told.

Moments are Unix seconds here, so that a program need not read a hundred thousand dates.
"""

from __future__ import annotations

from tenuto.wire.replies import Answer


class SubjectOut(Answer):
    """Something that is measured."""

    kind: str
    """`node`, `job` or `cluster`."""
    name: str
    """Of a node; the id of a job; empty for the cluster."""
    part: str
    """Such as `gpu:0` or `worker:1.worker.0`; empty for the whole."""


class ColumnsOut(SubjectOut):
    """The numbers of one subject: `values[name][i]` is what it was at `at[i]`, null if unknown."""

    step: float
    """Seconds of which each point is the mean, beginning at its moment; 0 if points are told as they came."""
    means_until: float | None
    """Points before this moment are means of minutes, since nothing else is kept; null if that is true of none."""
    at: list[float]
    values: dict[str, list[float | None]]
    units: dict[str, str]
    """Of each value; empty where it has none, or nobody knows."""
    next: float | None
    """There are more points: ask for them with `since` = this."""


class GapOut(Answer):
    """A time of which there are no samples of a node."""

    node: str
    since: float
    until: float
    why: str


class NumbersOut(Answer):
    """Numbers over time, subject by subject."""

    since: str
    until: str
    items: list[ColumnsOut]
    gaps: list[GapOut]
    """Of the nodes that are told of here."""
    next: str | None
    """The cursor of the following subjects, null at the end."""


_PERCENT, _BYTES, _FLOW = "percent", "bytes", "bytes/s"
_UNITS = {
    "cpu": _PERCENT,
    "ram_used": _BYTES,
    "ram_total": _BYTES,
    "swap_used": _BYTES,
    "swap_total": _BYTES,
    "utilisation": _PERCENT,
    "memory_used": _BYTES,
    "memory_total": _BYTES,
    "power": "watts",
    "power_limit": "watts",
    "temperature": "celsius",
    "fan": _PERCENT,
    "received": _FLOW,
    "sent": _FLOW,
    "used": _BYTES,
    "total": _BYTES,
    "read": _FLOW,
    "written": _FLOW,
    "step": "steps",
    "seconds": "seconds",
    "samples": "samples",
    "samples_per_second": "samples/s",
    "moved_bytes": _BYTES,
}


def unit_of(part: str, name: str) -> str:
    """The unit of a value; what a program reports under a name of its own has none."""
    if part == "cores":
        return _PERCENT
    if part == "values":
        return ""
    return "milliseconds" if name.endswith("_ms") else _UNITS.get(name, "")
