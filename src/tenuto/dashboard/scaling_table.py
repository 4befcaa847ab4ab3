"""The scaling log as a page shows it: what stands in its address, its rows, and the same as CSV. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any
from urllib.parse import urlencode

from tenuto.dashboard.wording import NONE, job_path
from tenuto.wire.scaling import ScalingOut

PATH = "/scaling"
CAUSES = {
    "": "anybody",
    "user": "a user",
    "policy": "the policy",
    "failure": "a failure",
    "platform": "the platform",
}
"""Who may be behind a change, and how that is called."""
_TONES = {"failure": "bad", "user": "good"}
_CHANGES = {
    "start": "started", "grow": "grew", "shrink": "shrank", "move": "moved", "stop": "stopped", "pin": "pinned",
    "unpin": "set to auto",
}  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take a cell for that begins so."""


@dataclass(frozen=True, slots=True)
class LogView:
    """Which changes somebody looks at."""

    job: str = ""
    by: str = ""
    text: str = ""

    @property
    def is_filtered(self) -> bool:
        """Whether some are left out."""
        return bool(self.job or self.by or self.text)

    def query(self) -> dict[str, str]:
        """What is asked of the API."""
        return {"job": self.job, "by": self.by, "text": self.text}

    def address(self) -> str:
        """The page's address, with everything that is said."""
        given = urlencode({key: value for key, value in self.query().items() if value})
        return f"{PATH}?{given}" if given else PATH


def view_in(query: Mapping[str, str]) -> LogView:
    """What an address says; what cannot be understood is passed over."""
    by = query.get("by", "")
    return LogView(
        job=query.get("job", "").strip()[:200],
        by=by if by in CAUSES else "",
        text=query.get("text", "").strip()[:200],
    )


def row_of(change: ScalingOut) -> dict[str, Any]:
    """A row of the table."""
    wish = change.workers_after is None
    return {
        "id": change.id,
        "at": change.at,
        "name": change.name or change.job,
        "href": job_path(change.job) if change.name else "",
        "change": _CHANGES.get(change.change, change.change),
        "sizes": f"{change.before} → {change.after}" if wish else f"{change.workers_before} → {change.workers_after}",
        "where": "" if wish else f"{change.before or NONE} → {change.after or NONE}",
        "who": change.who.removeprefix("policy:"),
        "by": CAUSES.get(change.by, change.by),
        "tone": _TONES.get(change.by, "muted"),
        "reason": change.reason,
    }  # fmt: skip


def as_csv(changes: Iterable[ScalingOut]) -> str:
    """A line for each change; moments are in UTC."""
    columns = (
        "at",
        "job",
        "name",
        "change",
        "before",
        "after",
        "workers_before",
        "workers_after",
        "by",
        "who",
        "reason",
    )
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for change in changes:
        writer.writerow([_cell(getattr(change, column)) for column in columns])
    return text.getvalue()  # fmt: skip


def _cell(value: str | int | None) -> str:
    """As text that no spreadsheet reckons with."""
    written = "" if value is None else str(value)
    return f"'{written}" if written.startswith(_FORMULA) else written
