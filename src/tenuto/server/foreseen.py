"""Plans, fates and differences as the API shows them."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.forecast.contract import LAST_WRITTEN
from tenuto.forecast.dry_run import Plan
from tenuto.forecast.eta import Eta
from tenuto.forecast.future import Fate
from tenuto.forecast.stretch import Stretch
from tenuto.forecast.whatif import Difference
from tenuto.server.show import moment, shown_contract
from tenuto.server.thoughts import Thought
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import DifferenceOut, FateOut, ForeseenOut, PlannedOut, StretchOut


def shown_eta(eta: Eta, later_than: float | None = None) -> ForeseenOut:
    """When a job begins and is done."""
    return ForeseenOut(
        start=_moment(eta.start),
        finish=_moment(eta.finish),
        finish_p90=_moment(eta.late),
        later_than=_moment(later_than),
    )


def _moment(seconds: float | None) -> str | None:
    """A time, unless it is so far away that no calendar has it: somebody waits for what never ends."""
    return None if seconds is None or seconds > LAST_WRITTEN else moment(seconds)


def shown_fate_eta(fate: Fate | None) -> ForeseenOut:
    """The same of a job that rounds may not decide about."""
    return ForeseenOut() if fate is None else shown_eta(fate.eta, fate.later_than)


def shown_stretches(stretches: Iterable[Stretch]) -> list[StretchOut]:
    """How many slots when."""
    return [StretchOut(begin=rfc3339(one.begin), end=moment(one.end), slots=one.slots) for one in stretches]


def shown_plan(thought: Thought, plan: Plan) -> PlannedOut:
    """What a job in thought would get."""
    contract, place = plan.contract or thought.contract, plan.place or {}
    return PlannedOut(
        name=plan.job.spec.name,
        reply=thought.reply if contract is None else str(contract.reply),
        message=thought.message if contract is None else contract.message,
        contract=None if contract is None else shown_contract(contract),
        eta=shown_eta(plan.eta, plan.later_than),
        place={node: list(slots) for node, slots in place.items()},
        allocation=",".join(f"{node}:{len(slots)}" for node, slots in place.items()),
        reserved=shown_stretches(plan.reserved),
        foreseen=shown_stretches(plan.foreseen),
        curve={str(size): rate for size, rate in sorted(plan.job.curve.items())},
        curve_from=plan.job.curve_from,
    )


def shown_difference(one: Difference) -> DifferenceOut:
    """A job before and after."""
    return DifferenceOut(
        id=one.job.id,
        name=one.job.spec.name,
        state=str(one.job.phase),
        effect=str(one.effect),
        before=_fate(one.before),
        after=_fate(one.after),
    )


def _fate(fate: Fate | None) -> FateOut | None:
    if fate is None:
        return None
    return FateOut(
        promise=str(fate.standing),
        promised=moment(fate.promised),
        eta=shown_fate_eta(fate),
    )
