"""How traces are shown on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tenuto.sim.describe import Description
    from tenuto.sim.library import Entry

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def library_table(entries: Sequence[Entry]) -> Table:
    """One line per trace: its name, how many jobs it has and where it comes from."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("trace", overflow="fold")
    table.add_column("jobs", justify="right", no_wrap=True)
    table.add_column("from", overflow="fold")
    for entry in entries:
        # As text, not markup: a name may contain square brackets.
        table.add_row(Text(entry.name), f"{entry.jobs:,}", Text(entry.origin or "bundled"))
    return table


def description_table(description: Description) -> Table:
    """One line per property of a trace."""
    table = Table(box=None, show_header=False, title=Text(description.name), title_justify="left")
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _lines(description):
        table.add_row(label, Text(value))
    return table


def _lines(described: Description) -> list[tuple[str, str]]:
    span = described.last_submission - described.first_submission
    lines = [
        ("jobs", f"{described.jobs:,} within {seconds(span)}"),
        ("best effort", f"{described.best_effort_share:.0%}"),
        ("a day", f"{described.jobs_per_day:,.0f} jobs, {described.jobs_in_peak_hour:,} in the busiest hour"),
        ("slots", _counts(described.sizes)),
        ("models", _counts(described.models)),
        ("duration", _spread({name: seconds(value) for name, value in described.duration.items()})),
        ("urgency", _urgency(described.tightness)),
        ("work", f"{described.requested_slot_hours:,.0f} slot hours"),
        ("demand", f"{described.mean_load:,.1f} slots on average, {described.peak_load:,.0f} at the peak"),
    ]
    share, over = described.mean_load_share, described.time_over_capacity
    if share is not None and over is not None:
        slots = f"{described.cluster_slots:,} slots"
        lines.append((f"on {described.cluster}", f"{share:.0%} of {slots}, too much {over:.0%} of the time"))
    return lines


def _urgency(tightness: Mapping[str, float]) -> str:
    if not tightness:
        return "no job has a deadline"
    return _spread({name: f"{value:.2f}" for name, value in tightness.items()}) + " (time given / duration)"


def seconds(duration: float) -> str:
    """A duration as people say it: `45 s`, `12 min`, `3.4 h`, `2.1 d`."""
    for unit, name in ((_DAY, "d"), (_HOUR, "h")):
        if duration >= 2 * unit:
            return f"{duration / unit:.1f} {name}"
    if duration >= 2 * _MINUTE:
        return f"{duration / _MINUTE:.0f} min"
    return f"{duration:.0f} s"


def _counts(counts: Mapping[int, int] | Mapping[str, int]) -> str:
    return ", ".join(f"{what}: {count:,}" for what, count in counts.items())


def _spread(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
