"""The table of jobs as a page shows it: what stands in its address, what is asked for, and its rows. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from tenuto.dashboard.wording import job_path
from tenuto.model.phase import ENDED, Phase
from tenuto.store.base import JobOrder
from tenuto.wire.job_table import JobLine

PATH = "/jobs"
ROWS = (25, 50, 100)
"""How many rows a page of the table may have."""
_LAST_PAGE = 1_000_000
_STATE_TONES = {
    "running": "good", "succeeded": "good", "starting": "good", "rescaling": "good", "queued": "warn",
    "submitted": "warn",
    "unschedulable": "bad", "declined": "bad", "failed": "bad", "lost": "bad",
}  # fmt: skip
_PROMISES = {
    "holds": ("good", "holds"), "kept": ("good", "kept"), "at_risk": ("warn", "at risk"), "broken": ("bad", "broken"),
    "withdrawn": ("muted", "withdrawn"),
}  # fmt: skip
_COMING = {"pause": "pausing", "cancel": "ending"}


@dataclass(frozen=True, slots=True)
class TableView:
    """Which part of the table somebody looks at."""

    states: tuple[str, ...] = ()
    owner: str = ""
    labels: tuple[str, ...] = ()
    """`name=value`."""
    text: str = ""
    order: str = JobOrder.SUBMITTED
    descending: bool = True
    page: int = 1
    rows: int = ROWS[0]

    @property
    def is_filtered(self) -> bool:
        """Whether some jobs are left out."""
        return bool(self.states or self.owner or self.labels or self.text)

    @property
    def signed_order(self) -> str:
        """The order as the API takes it."""
        return f"-{self.order}" if self.descending else str(self.order)

    def query(self) -> dict[str, Any]:
        """What is asked of the API."""
        return {
            "state": ",".join(self.states),
            "owner": self.owner,
            "label": list(self.labels),
            "text": self.text,
            "order": self.signed_order,
            "skip": (self.page - 1) * self.rows,
            "limit": self.rows,
        }

    def address(self) -> str:
        """The page's address with everything that is not as it is without saying."""
        said: dict[str, Any] = {
            "state": ",".join(self.states),
            "owner": self.owner,
            "label": ",".join(self.labels),
            "text": self.text,
        }
        usual = TableView()
        said["order"] = "" if self.signed_order == usual.signed_order else self.signed_order
        said["page"] = "" if self.page == usual.page else self.page
        said["rows"] = "" if self.rows == usual.rows else self.rows
        given = urlencode({key: value for key, value in said.items() if value}, safe=",=")
        return f"{PATH}?{given}" if given else PATH

    def within(self, of: int) -> TableView:
        """The same, but not behind the last page."""
        last = max(1, -(-of // self.rows))
        return replace(self, page=min(self.page, last))


def view_in(query: Mapping[str, str]) -> TableView:
    """What an address says; what cannot be understood is passed over."""
    usual = TableView()
    order = query.get("order", usual.signed_order)
    known = order.removeprefix("-") in list(JobOrder)
    rows = _number(query.get("rows", ""), usual.rows)
    return TableView(
        states=tuple(state for state in query.get("state", "").split(",") if state in list(Phase)),
        owner=query.get("owner", "").strip(),
        labels=labels_in(query.get("label", "")),
        text=query.get("text", "").strip(),
        order=order.removeprefix("-") if known else usual.order,
        descending=order.startswith("-") if known else usual.descending,
        page=max(1, min(_number(query.get("page", ""), 1), _LAST_PAGE)),
        rows=rows if rows in ROWS else usual.rows,
    )


def labels_in(text: str) -> tuple[str, ...]:
    """Labels as they are typed, with commas between."""
    return tuple(label.strip() for label in text.split(",") if label.strip())


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def row_of(job: JobLine) -> dict[str, Any]:
    """A row of the table; it holds what its cells show and nothing else."""
    promise_tone, promise = _PROMISES.get(job.promise, ("muted", ""))
    coming = _COMING.get(job.wish, "") if job.state not in (*ENDED, "paused") else ""
    return {
        "id": job.id,
        "name": job.name,
        "href": job_path(job.id),
        "labels": [f"{key}={value}" for key, value in job.labels.items()],
        "urgent": job.priority == "urgent",
        "state": f"{job.state}, {coming}" if coming else job.state,
        "tone": _STATE_TONES.get(job.state, "muted"),
        "message": job.message,
        "workers": _workers(job),
        "done": None if job.done is None else int(job.done * 100),
        "ended": job.ended_at,
        "eta": job.eta,
        "deadline": job.deadline,
        "promise": promise,
        "promise_tone": promise_tone,
        "promised": job.promised,
        "owner": job.owner,
        "submitted": job.submitted_at,
    }


def _workers(job: JobLine) -> str:
    sizes = (
        str(job.min_workers)
        if job.min_workers == job.max_workers
        else f"{job.min_workers}..{job.max_workers}"
    )
    return f"{job.workers} of {sizes}" if job.workers else sizes


def counted(count: int) -> str:
    """`1 job`, `12,345 jobs`."""
    return "1 job" if count == 1 else f"{count:,} jobs"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a wish for one of several jobs."""

    name: str
    trouble: str = ""
    """Why it was refused; empty if it was not."""


def told_outcomes(outcomes: Sequence[Outcome], done: str) -> str:
    """How many were granted: `3 jobs are being cancelled; 1 was refused`."""
    refused = sum(1 for one in outcomes if one.trouble)
    granted = len(outcomes) - refused
    are = "is" if granted == 1 else "are"
    yes = f"{counted(granted)} {are} {done}" if granted else f"No job is {done}"
    if not refused:
        return f"{yes}."
    return f"{yes}; {refused} {'was' if refused == 1 else 'were'} refused."


def refusals(outcomes: Iterable[Outcome]) -> list[str]:
    """Which were refused, and why."""
    return [f"{one.name}: {one.trouble}" for one in outcomes if one.trouble]
