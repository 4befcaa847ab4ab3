"""A job's events for people: rows of a table, marks on the time axis, the phases of a rescale. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tenuto.dashboard.charts import BAD, GOOD, GREY, PALETTE, WARN
from tenuto.dashboard.event_words import actor, reason, told
from tenuto.dashboard.job.course import unix
from tenuto.dashboard.wording import sentence
from tenuto.wire.replies import EventOut

PHASES: Mapping[str, str] = {
    "warm_up_ms": "warm up",
    "agree_ms": "agree",
    "form_ms": "form",
    "transfer_ms": "transfer",
    "first_step_ms": "first step",
}
"""What a rescale is made of; newcomers warm up while the others go on training."""
MOST_MARKS = 60
_COLOURS = {
    "rescale": PALETTE[2], "scaled": PALETTE[2], "pinned": PALETTE[5], "checkpoint": GREY, "worker": BAD, "loss": BAD,
    "hung": WARN, "problem": WARN, "promise": WARN, "summary": GOOD,
}  # fmt: skip
_ENDS = {"succeeded": GOOD, "failed": BAD, "lost": BAD}
_MARKED = frozenset({*_COLOURS, "phase"})
_ICONS = {
    "rescale": "swap_vert", "scaled": "swap_vert", "pinned": "push_pin", "checkpoint": "save", "worker": "warning",
    "loss": "warning", "hung": "hourglass_bottom", "problem": "error",
    "promise": "handshake", "verdict": "gavel", "submitted": "upload",
    "summary": "flag", "phase": "arrow_forward", "idle": "bedtime", "busy": "bolt",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """An event on a time axis."""

    at: float
    kind: str
    text: str
    colour: str


def marks(events: Iterable[EventOut], since: float = 0.0) -> list[Mark]:
    """The newest events worth a mark."""
    found = [
        Mark(unix(one.at), one.kind, _short(one), _colour(one))
        for one in events
        if one.kind in _MARKED and unix(one.at) >= since
    ]
    return found[-MOST_MARKS:]


def _colour(event: EventOut) -> str:
    return _ENDS.get(event.after, GREY) if event.kind == "phase" else _COLOURS[event.kind]


def _short(event: EventOut) -> str:
    return ": ".join(filter(None, (told(event), reason(event))))[:160]


def event_rows(events: Sequence[EventOut]) -> list[dict[str, Any]]:
    """Newest first, for a table; `why` is HTML."""
    return [
        {
            "key": one.id, "at": one.at, "kind": one.kind, "icon": _ICONS.get(one.kind, "circle"),
            "what": told(one), "actor": actor(one), "node": one.node, "why": sentence(reason(one)),
            "phases": phases_html(one.data) if one.kind == "rescale" else "",
        }
        for one in reversed(events)
    ]  # fmt: skip


def phases_html(data: Mapping[str, Any]) -> str:
    """The phases of a rescale as a bar, and in words."""
    took = {
        word: float(data[name]) for name, word in PHASES.items() if isinstance(data.get(name), int | float)
    }
    took = {word: milliseconds for word, milliseconds in took.items() if milliseconds >= 0.5}
    if not took:
        return ""
    words = " · ".join(f"{word} {milliseconds:,.0f}" for word, milliseconds in took.items()) + " ms"
    whole = sum(took.values())
    pieces = "".join(
        f'<i style="width:{100 * milliseconds / whole:.1f}%;background:{PALETTE[place]}" '
        f'title="{escape(word)} {milliseconds:,.0f} ms"></i>'
        for place, (word, milliseconds) in enumerate(took.items())
    )
    return (
        f'<div class="t-phases" aria-hidden="true">{pieces}</div><div class="t-muted">{escape(words)}</div>'
    )
