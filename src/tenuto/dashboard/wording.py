"""How values are written on pages: times for the viewer's zone, durations, sizes, links."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import quote

from tenuto.wire.worker import WORKER

NONE = "\N{EN DASH}"
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z")
_UNITS = ("B", "KB", "MB", "GB", "TB")
_SPANS = ((86_400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s"))


def moment(at: str | None, *, ago: bool = False, none: str = NONE) -> str:
    """HTML: a moment that the browser shows in its own zone, or how far away it is; the whole date on hover."""
    if at is None:
        return none
    kind = ' class="t-ago"' if ago else ""
    return f'<time datetime="{escape(at, quote=True)}"{kind}>{escape(at[:16].replace("T", " "))} UTC</time>'


def sentence(text: str) -> str:
    """HTML: a sentence; the moments in it are shown in the viewer's zone."""
    return _MOMENT.sub(lambda found: moment(found.group()), escape(text))


def link(path: str, text: str) -> str:
    """HTML: a link to a page of ours."""
    return f'<a class="t-link" href="{escape(path, quote=True)}">{escape(text)}</a>'


def job_path(job: str) -> str:
    """The page of a job."""
    return f"/jobs/{quote(job, safe='')}"


def node_path(node: str) -> str:
    """The page of a node."""
    return f"/nodes/{quote(node, safe='')}"


def worker_name(worker: str) -> str:
    """A worker as tables, charts and logs name it: by the generation of its birth and its rank then."""
    generation, role, rank = worker.rsplit(".", 3)[-3:]
    return f"{'' if role == WORKER else f'{role} '}{generation}.{rank}"


def span(seconds: float | None) -> str:
    """A duration: `2d 3h`, `4h 05m`, `12s`."""
    if seconds is None:
        return NONE
    whole = round(seconds)
    for size, name, part, small in _SPANS:
        if abs(whole) >= size:
            rest = abs(whole) % size // part
            return f"{'-' if whole < 0 else ''}{abs(whole) // size}{name}" + (
                f" {rest:02d}{small}" if rest else ""
            )
    return f"{whole}s"


def size(count: float | None) -> str:
    """Bytes: `1.5 GB`."""
    if count is None:
        return NONE
    for unit in _UNITS:
        if abs(count) < 1000 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")


def percent(value: float | None) -> str:
    """Of a value between 0 and 100."""
    return NONE if value is None else f"{value:.0f} %"
