"""How the future is told on a terminal: moments, stretches of slots, before and after."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenuto.cli.humane import amount, clock, in_local_time, parsed, relative, told
from tenuto.cli.printing import table_of

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.client.plain import Json

ROUGHLY = "Many jobs live here: times further ahead are told to within about a tenth of the way."
_SOON = 1.0
_MOST_STRETCHES = 4
_ANSWERS = {
    "admitted": "yes, with a promise",
    "queued": "it would wait its turn, without a promise",
    "measuring": "its speed would be measured first",
    "declined": "no",
    "unschedulable": "not on this cluster; asked again when nodes join",
    "held": "not before another job has ended",
    "submitted": "none for now",
}
_PROMISES = {"none": "-", "at_risk": "late", "refused": "declined"}


def planned_facts(job: Json, now: datetime) -> dict[str, str]:
    """What a job that was not submitted would get, fact by fact."""
    contract, eta = job["contract"] or {}, job["eta"]
    return {
        "job": job["name"],
        "answer": f"{job['reply']}: {_ANSWERS.get(job['reply'], '')}".rstrip(": "),
        "promised": _moment(contract.get("promised"), now),
        "begins": _begins(eta, now),
        "done": _done(eta, now),
        "reserved": stretches(job["reserved"], now),
        "foreseen": stretches(job["foreseen"], now),
        "place": job["allocation"],
        "firm answer": _moment(contract.get("firm_at"), now),
        "reason": _reason(job, contract, now),
        "by the curve": job["curve_from"],
        **_offers(contract, now),
    }


def _begins(eta: Json, now: datetime) -> str:
    if eta["start"] is None:
        return ""
    start = parsed(eta["start"])
    return "now" if (start - now).total_seconds() < _SOON else told(start, now)


def _done(eta: Json, now: datetime) -> str:
    if eta["finish"] is None:
        return f"later than {clock(parsed(eta['later_than']), now)}" if eta["later_than"] else ""
    median, late = told(parsed(eta["finish"]), now), clock(parsed(eta["finish_p90"]), now)
    certain = late == clock(parsed(eta["finish"]), now)
    return median if certain else f"{median}; nine times of ten by {late}"


def stretches(parts: Sequence[Json], now: datetime) -> str:
    """`4 slots until today 18:00, then 2 until …`."""
    said: list[str] = []
    for part in parts[:_MOST_STRETCHES]:
        slots = f"{part['slots']} slot" if part["slots"] == 1 else f"{part['slots']} slots"
        begin = parsed(part["begin"])
        since = f" from {clock(begin, now)}" if not said and (begin - now).total_seconds() >= _SOON else ""
        until = f" until {clock(parsed(part['end']), now)}" if part["end"] else ""
        said.append(f"{slots}{since}{until}")
    more = f", and {len(parts) - _MOST_STRETCHES} more stretches" if len(parts) > _MOST_STRETCHES else ""
    return ", then ".join(said) + more


def _reason(job: Json, contract: Json, now: datetime) -> str:
    if job["reply"] == "admitted":
        return ""
    sentence = job["message"].removeprefix(f"{job['reply']}: ")
    if any(contract.get("offers", {}).values()):
        sentence = sentence.partition("; ")[0]
    return in_local_time(sentence, now)


def _offers(contract: Json, now: datetime) -> dict[str, str]:
    offers = contract.get("offers", {})
    _, _, in_the_way = contract.get("message", "").partition("in the way: ")
    steps = offers.get("steps")
    return {
        "could have": _moment(offers.get("earliest"), now),
        "or": "" if steps is None else f"{amount(steps)} {_unit(contract)} by that deadline",
        "in the way": in_the_way if offers.get("in_the_way") else "",
    }


def _unit(contract: Json) -> str:
    return "epochs" if " epochs would fit" in contract.get("message", "") else "steps"


def _moment(text: str | None, now: datetime) -> str:
    return "" if text is None else told(parsed(text), now)


def differences_table(found: Iterable[Json], now: datetime) -> Table:
    """One line per job: what it was promised and when it is done, before and after."""
    columns = ("id", "name", "state", "effect", "promise", "", "done", "", "by")
    return table_of(columns, [_difference(one, now) for one in found])


def _difference(one: Json, now: datetime) -> tuple[str, ...]:
    before, after = one["before"], one["after"]
    effect = "-" if one["effect"] == "none" else one["effect"]
    return (
        *(one["id"], one["name"], one["state"], effect),
        *_sides(_promise(before, now), _promise(after, now)),
        *_sides(_finish(before, now), _finish(after, now)),
        _moved(before, after),
    )


def _sides(before: str, after: str) -> tuple[str, str]:
    return before, "" if after == before else f"-> {after}"


def _promise(fate: Json | None, now: datetime) -> str:
    if fate is None:
        return "-"
    word = _PROMISES.get(fate["promise"], str(fate["promise"]))
    return f"{word}, {clock(parsed(fate['promised']), now)}" if fate["promised"] and word != "-" else word


def _finish(fate: Json | None, now: datetime) -> str:
    if fate is None:
        return "-"
    eta = fate["eta"]
    if eta["finish"] is None:
        begins = _begins(eta, now)
        until = f"after {clock(parsed(eta['later_than']), now)}" if eta["later_than"] else "unknown"
        return f"{until}, begins {clock(parsed(eta['start']), now)}" if begins not in ("", "now") else until
    return clock(parsed(eta["finish"]), now)


def _moved(before: Json | None, after: Json | None) -> str:
    """How much later or earlier it is done."""
    first, second = (None if fate is None else fate["eta"]["finish"] for fate in (before, after))
    if first is None or second is None or first == second:
        return ""
    apart = relative(parsed(second), parsed(first))
    return (
        f"{apart.removeprefix('in ')} later"
        if apart.startswith("in ")
        else f"{apart.removesuffix(' ago')} earlier"
    )


def counted(count: int, what: str = "job") -> str:
    """`1 job`, `2 jobs`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def local(sentences: Iterable[Any], now: datetime) -> list[str]:
    """Sentences of the server's with the times of this machine."""
    return [in_local_time(str(sentence), now) for sentence in sentences]
