"""The answer to a submission in plain sentences: what is promised, or why not and what could be had instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from tenuto.forecast.ahead import FARTHEST
from tenuto.forecast.offers import FAR, Refusal, offers
from tenuto.forecast.picture import Picture
from tenuto.model.job import Contract, Job, Offers, Reply
from tenuto.model.plan import Verdict, Why
from tenuto.policy.base import Policy

LAST_WRITTEN = 253_402_300_799.0
"""The last second that has a date of four digits."""


@dataclass(frozen=True)
class Said:
    """A verdict with everything that is needed to explain it. Times are Unix seconds."""

    picture: Picture
    policy: Policy
    row: int
    verdict: Verdict
    expected: float | None
    """The finish by its reservation, or an estimate if it is promised nothing."""
    offers: Offers | None
    """None if nobody has looked for any."""

    @property
    def job(self) -> Job:
        """Whom it is said to."""
        return self.picture.jobs[self.row]

    @property
    def now(self) -> float:
        """When it is said."""
        return self.picture.epoch + self.picture.snapshot.now

    def at(self, time: float | None) -> str:
        """A time as it is written."""
        return "unknown" if time is None else written(time, self.now)


def contract_of(
    picture: Picture,
    policy: Policy,
    row: int,
    verdict: Verdict,
    estimate: float | None,
    *,
    offering: bool = True,
) -> Contract:
    """Answer one newcomer; `estimate` is when it may be done if nothing is promised (`ahead.expected`).

    To find out what can be offered instead takes dozens of rounds: without `offering` it is told how to ask for it.
    """
    finish = verdict.expected if verdict.expected is not None else estimate
    if finish is not None and finish - picture.snapshot.now > FARTHEST:
        finish = None
    said = Said(
        picture,
        policy,
        row,
        verdict,
        expected=None if finish is None else picture.epoch + finish,
        offers=offers(Refusal(picture, policy, row, verdict)) if offering else None,
    )
    promised = None if verdict.promised is None else said.job.deadline
    return Contract(
        reply=Reply(verdict.answer.value),
        why=verdict.why.value,
        message=f"{verdict.answer.value}: {_sentence(said)}{_by_which_curve(said)}",
        answered_at=said.now,
        promised=promised,
        expected=None if verdict.refused else said.expected,
        share=verdict.share,
        offers=said.offers or Offers(),
    )


_ESTIMATE = re.compile(r"; (estimated finish .*|its finish cannot be estimated)$")


def estimated_anew(contract: Contract, now: float, expected: float) -> Contract:
    """The answer to a job that was promised nothing, with another estimate."""
    if contract.promised is not None or not _ESTIMATE.search(contract.message):
        return contract
    message = _ESTIMATE.sub(f"; estimated finish {written(expected, now)}", contract.message)
    return replace(contract, expected=expected, message=message)


def written(time: float, now: float) -> str:
    """A time in ISO form, UTC; with seconds if it is less than an hour away."""
    if time > LAST_WRITTEN:
        return "after the year 9999"
    form = "%Y-%m-%dT%H:%MZ" if abs(time - now) >= FAR else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.fromtimestamp(time, UTC).strftime(form)


def _sentence(said: Said) -> str:
    match said.verdict.why:
        case Why.FITS:
            return (
                f"finishes by {said.at(said.job.deadline)}; {_slots(said.verdict.share or 0)} reserved, "
                f"expected finish {said.at(said.expected)}"
            )
        case Why.NO_PROMISE_ASKED if said.policy.promises:
            return f"has no deadline, runs on what the promised jobs leave; {_estimate(said)}"
        case Why.NO_PROMISE_ASKED | Why.POLICY_GIVES_NONE:
            return f"no promise is given by policy {said.policy.name}; {_estimate(said)}"
        case Why.NO_ROOM_FOR_PROMISE:
            return "; ".join([f"{_cannot(said)}, so it runs on what is left over", *_counter_offers(said)])
        case Why.DEADLINE_INFEASIBLE:
            return "; ".join([_cannot(said), *_counter_offers(said)])
        case Why.TOO_LARGE:
            return _too_large(said)


def _by_which_curve(said: Said) -> str:
    """What the answer rests on, if its owner did not say it himself."""
    rests = said.job.curve_from and said.job.deadline is not None and said.verdict.why is not Why.TOO_LARGE
    return f"; its curve: {said.job.curve_from}" if rests else ""


def _cannot(said: Said) -> str:
    return f"{said.at(said.job.deadline)} cannot be promised"


def _estimate(said: Said) -> str:
    if said.expected is None:
        return "its finish cannot be estimated"
    late = said.job.deadline is not None and said.expected > said.job.deadline
    return f"estimated finish {said.at(said.expected)}" + (", after its deadline" if late else "")


def _counter_offers(said: Said) -> list[str]:
    found = said.offers
    if found is None:
        return [f"tenuto explain {said.job.id} tells what could be promised instead"]
    told = []
    if found.earliest is not None:
        told.append(f"the earliest deadline that can be promised now is {said.at(found.earliest)}")
    if found.steps is not None:
        unit = "epochs" if said.job.spec.epochs else "steps"
        told.append(f"{found.steps:.15g} {unit} would fit")
    if found.in_the_way:
        names = {job.id: job.spec.name for job in said.picture.jobs}
        told.append("in the way: " + ", ".join(f"{names[id]} ({id})" for id in found.in_the_way))  # noqa: A001
    return told


def _too_large(said: Said) -> str:
    snap, job = said.picture.snapshot, said.job
    needs = job.spec.min_workers if job.pin is None else job.pin.workers
    if job.spec.node:
        return f"needs {_slots(needs)} on node {job.spec.node}, which cannot give them; asked again when nodes change"
    return f"needs {_slots(needs)}, the cluster has {snap.capacity}; asked again when nodes join"


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"
