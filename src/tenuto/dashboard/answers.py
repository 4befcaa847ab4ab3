"""What the platform answers to a job, before it is submitted and after, as a page tells it. Pure; all is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import escape
from math import floor
from typing import Any

from tenuto.dashboard.wording import job_path, link, moment, sentence
from tenuto.wire.questions import DifferenceOut, FateOut, ForeseenOut, PlannedOut, PlanOut, StretchOut
from tenuto.wire.replies import ContractOut, JobOut

TIME_TO_DECIDE = timedelta(seconds=30)
"""The earliest moment that can be promised moves on while somebody looks at it."""
_MOST_STRETCHES = 4
_MOST_MOVED = 20
_HEADLINES = {
    "admitted": ("good", "Yes, with a promise"),
    "queued": ("good", "It waits its turn, without a promise"),
    "measuring": ("warn", "Its speed is measured first"),
    "declined": ("bad", "No"),
    "unschedulable": ("bad", "It does not fit this cluster"),
    "held": ("warn", "It waits for another job"),
    "submitted": ("warn", "There is no answer yet"),
}
_EFFECT_TONES = {"lost": "bad", "broken": "bad", "refused": "bad", "later": "warn"}


@dataclass(frozen=True, slots=True)
class Offer:
    """Something that would have been a yes."""

    label: str
    """HTML: what accepting it means."""
    edit: Mapping[str, Any]
    """The key of the job that has to be another, and its value."""


@dataclass(frozen=True, slots=True)
class Told:
    """An answer."""

    tone: str
    """`good`, `warn` or `bad`."""
    headline: str
    reason: str
    """HTML."""
    facts: Mapping[str, str]
    """HTML, by what it is about."""
    offers: Sequence[Offer] = ()


def told_plan(planned: PlannedOut, unit: str) -> Told:
    """What a job would be answered; `unit` is what its work is counted in."""
    tone, headline = _HEADLINES.get(planned.reply, ("warn", planned.reply))
    contract = planned.contract
    facts = {
        **_facts_of(contract),
        "Begins": _begins(planned.eta),
        "Done": _done(planned.eta),
        "Reserved": stretches(planned.reserved),
        "Foreseen": stretches(planned.foreseen),
        "Place": escape(planned.allocation),
        "By the curve": escape(planned.curve_from),
    }
    return Told(
        tone,
        headline,
        "" if planned.reply == "admitted" else sentence(planned.message),
        {name: value for name, value in facts.items() if value},
        offers_in(contract, unit),
    )


def told_verdict(job: JobOut) -> Told:
    """What a job was answered."""
    contract = job.contract
    reply = (
        job.state
        if job.state in ("held", "unschedulable", "submitted") or contract is None
        else contract.reply
    )
    tone, headline = _HEADLINES.get(reply, ("warn", reply))
    facts = {**_facts_of(contract), "Job": link(job_path(job.id), job.name)}
    eta = job.eta
    if eta is not None:
        facts |= {"Begins": moment(eta.start, none=""), "Done": moment(eta.finish, none="")}
    offers = offers_in(contract, job.progress.unit) if job.state == "declined" else ()
    return Told(
        tone,
        headline,
        "" if reply == "admitted" else sentence(job.message),
        {name: value for name, value in facts.items() if value},
        offers,
    )


def _facts_of(contract: ContractOut | None) -> dict[str, str]:
    if contract is None:
        return {}
    share = "" if contract.share is None or contract.promised is None else _slots(contract.share)
    return {
        "Promised": moment(contract.promised, none=""),
        "By the reservation": moment(contract.expected, none="") if contract.promised else "",
        "Reserved slots": share,
        "Firm answer": moment(contract.firm_at, none=""),
        "In the way": ", ".join(link(job_path(job), job) for job in contract.offers.in_the_way),
    }


def offers_in(contract: ContractOut | None, unit: str) -> list[Offer]:
    """What would make a no a yes."""
    if contract is None:
        return []
    found, offers = [], contract.offers
    if offers.earliest is not None:
        deadline = next_minute(offers.earliest)
        found.append(Offer(f"Accept {moment(deadline)}", {"deadline": deadline}))
    if offers.steps is not None and offers.steps >= 1:
        amount = floor(offers.steps)
        found.append(Offer(f"Accept {amount:,} {escape(unit)}", {"total": {unit: amount}}))
    return found


def next_minute(earliest: str) -> str:
    """A full minute that can still be promised when somebody has thought about it."""
    then = datetime.fromisoformat(earliest).astimezone(UTC) + TIME_TO_DECIDE
    return (then + timedelta(seconds=59, microseconds=999_999)).strftime("%Y-%m-%dT%H:%MZ")


def _begins(eta: ForeseenOut) -> str:
    return moment(eta.start, none="")


def _done(eta: ForeseenOut) -> str:
    if eta.finish is None:
        return f"later than {moment(eta.later_than)}" if eta.later_than else ""
    late = eta.finish_p90 is not None and eta.finish_p90 != eta.finish
    return moment(eta.finish) + (f"; nine times of ten by {moment(eta.finish_p90)}" if late else "")


def stretches(parts: Sequence[StretchOut]) -> str:
    """HTML: `4 slots until 18:00, then 2 slots until …`."""
    said = [
        _slots(part.slots) + (f" until {moment(part.end)}" if part.end else "")
        for part in parts[:_MOST_STRETCHES]
    ]
    more = f", and {len(parts) - _MOST_STRETCHES} more stretches" if len(parts) > _MOST_STRETCHES else ""
    return ", then ".join(said) + more


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"


def moved_lines(plan: PlanOut) -> str:
    """HTML: the other jobs for which something would change; empty if there are none."""
    rows = "".join(_moved(one) for one in plan.moved[:_MOST_MOVED])
    more = plan.moved_more + max(0, len(plan.moved) - _MOST_MOVED)
    rest = f'<tr><td class="t-muted" colspan="4">and {more} more</td></tr>' if more else ""
    if not rows:
        return ""
    head = "<tr><th>Job</th><th>Effect</th><th>Done before</th><th>Done after</th></tr>"
    return f'<table class="t-plain">{head}{rows}{rest}</table>'


def _moved(one: DifferenceOut) -> str:
    tone = _EFFECT_TONES.get(one.effect, "muted")
    return (
        f"<tr><td>{link(job_path(one.id), one.name)}</td><td class='t-{tone}'>{escape(one.effect)}</td>"
        f"<td>{_finish(one.before)}</td><td>{_finish(one.after)}</td></tr>"
    )


def _finish(fate: FateOut | None) -> str:
    return "" if fate is None else _done(fate.eta)


def fact_rows(facts: Iterable[tuple[str, str]]) -> str:
    """HTML: a small table of facts, whose values are HTML already."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in facts)
    return f'<table class="t-answer">{rows}</table>'
