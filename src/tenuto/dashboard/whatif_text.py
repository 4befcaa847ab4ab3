"""The answer to a what-if question as a page tells it: before and after of everybody. Pure."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import Any

from tenuto.dashboard.wording import job_path, sentence, span
from tenuto.wire.questions import DifferenceOut, FateOut, WhatIfOut

ROUGHLY = "Many jobs live here: times further ahead are told to within about a tenth of the way."
_EFFECTS = {
    "lost": ("bad", "lost", "lost"),
    "broken": ("bad", "promise broken", "promises broken"),
    "refused": ("bad", "refused", "refused"),
    "later": ("warn", "later", "later"),
    "cancelled": ("muted", "cancelled", "cancelled"),
    "earlier": ("good", "earlier", "earlier"),
    "admitted": ("good", "admitted", "admitted"),
    "kept": ("good", "promise kept", "promises kept"),
    "none": ("muted", "as before", "as before"),
}
"""The gravest first, with its tone, and what it is called where it happens to one job and to several."""
_PROMISES = {"none": "", "holds": "holds", "at_risk": "late", "broken": "broken", "refused": "refused"}


def row_of(one: DifferenceOut) -> dict[str, Any]:
    """A job before and after."""
    tone, effect, _ = _EFFECTS.get(one.effect, ("muted", one.effect, ""))
    return {
        "id": one.id,
        "href": job_path(one.id),
        "name": one.name,
        "state": one.state,
        "tone": tone,
        "effect": effect,
        "promise": _sides(_promise(one.before), _promise(one.after)),
        "promised": None if one.after is None else one.after.promised,
        "before": _finish(one.before),
        "after": _finish(one.after),
        "moved": moved(one.before, one.after),
    }


def moved(before: FateOut | None, after: FateOut | None) -> str:
    """By how much it is done later: `+12m 30s`, `-1h`; empty if that is not known."""
    if before is None or after is None or before.eta.finish is None or after.eta.finish is None:
        return ""
    seconds = (
        datetime.fromisoformat(after.eta.finish) - datetime.fromisoformat(before.eta.finish)
    ).total_seconds()
    return "" if abs(seconds) < 1.0 else f"{'+' if seconds > 0 else ''}{span(seconds)}"


def _promise(fate: FateOut | None) -> str:
    return "" if fate is None else _PROMISES.get(fate.promise, fate.promise)


def _sides(before: str, after: str) -> str:
    return before if before == after else f"{before or 'none'} → {after or 'none'}"


def _finish(fate: FateOut | None) -> dict[str, str | None] | None:
    """When it is done, or later than what."""
    return None if fate is None else {"at": fate.eta.finish, "later_than": fate.eta.later_than}


def headline(told: WhatIfOut) -> tuple[str, str]:
    """The gist of it, with its tone: how many are affected, the gravest first."""
    found = [(told.counts.get(effect, 0), *words) for effect, words in _EFFECTS.items() if effect != "none"]
    said = [
        (tone, f"{count} {one if count == 1 else several}") for count, tone, one, several in found if count
    ]
    if not said:
        return "good", "Nothing changes for any job"
    return said[0][0], ", ".join(text for _, text in said)


def facts(told: WhatIfOut, seconds: float) -> dict[str, str]:
    """HTML, by what it is about."""
    slots, policy = told.slots, told.policy
    found = {
        "If": "<br>".join(map(sentence, told.changes)),
        "Would be refused": "<br>".join(sentence(one.message) for one in told.refused),
        "Slots": _changed(str(slots["before"]), str(slots["after"])),
        "Policy": _changed(policy.before, policy.after),
        "As before": _jobs(told.counts.get("none", 0)),
        "Remarks": "<br>".join(map(sentence, [*told.remarks, *([] if told.exact else [ROUGHLY])])),
        "Answered in": f"{seconds:.2f} s; nothing was changed",
    }
    return {name: value for name, value in found.items() if value}


def _changed(before: str, after: str) -> str:
    return escape(before) if before == after else f"{escape(before)} → <b>{escape(after)}</b>"


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count} jobs"
