"""How far forecasts were off: what lets an estimate be told as a median and a moment that holds nine times of ten.

One run ahead knows neither the noise of speeds nor who comes later. So what really became of jobs corrects it: the
ratio of the time that a job took and the time that was estimated, kept for each situation. The quantiles of these
ratios are those of the next job in the same situation, as long as tomorrow is like yesterday.

Jobs that are not done yet count too: of them it is known that their ratio is larger than it is now. Without them the
quick ones among the jobs of today would speak for all (Kaplan and Meier, 1958).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import exp
from typing import Any, NamedTuple

from tenuto.forecast.rates import being_measured
from tenuto.model.job import Foretold, Job

RATIOS = "ratios/"
"""With a situation behind it the store's name for what became of forecasts there: when they were made, and ratios."""
MOST_KEPT = 150
"""Forecasts of a situation that are remembered, those made last."""
ENOUGH = 20
"""Forecasts in a situation from which on it is judged by itself alone."""
BELIEF = 4.0
"""Jobs that it takes to weigh as much as what is believed before any was seen."""
A_SECOND = 1.0
"""Added to both times of a ratio: what is off by less is no news, however short a job is."""
LEAST, MOST = 0.01, 100.0
"""Ratios beyond these say that something else happened, not how good forecasts are."""
MEDIAN, LATE = 0.5, 0.9

RUNS, WAITS = "runs", "waits"
_SIGMA = {"given": 0.0, "measured": 0.0, "profile": 0.1, "unknown": 0.5}
"""How uncertain a curve is believed to be by where it comes from, as the logarithm of its error."""
_NORMAL = (-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645)
"""A standard normal distribution in ten parts of equal weight."""

SITUATIONS = tuple("/".join(parts) for parts in product((RUNS, WAITS), ("promised", "free"), _SIGMA))

Past = Mapping[str, Sequence[tuple[float, float]]]
"""By situation the forecasts whose truth is known: when each was made, and its ratio."""


class Known(NamedTuple):
    """What is known of one forecast."""

    at: float
    """When it was made."""
    ratio: float
    over: bool
    """False if the job is not done yet, so that the ratio will be larger."""


Cohorts = Mapping[str, Sequence[Known]]
"""By situation the forecasts that were made last."""


@dataclass(frozen=True, slots=True)
class Factors:
    """By what an estimated time is multiplied."""

    median: float = 1.0
    late: float = 1.0

    def told(self, now: float, estimate: float) -> tuple[float, float]:
        """The median and the ninetieth percentile of a moment that was estimated."""
        ahead = max(estimate - now, 0.0) + A_SECOND
        median, late = (max(ahead * factor - A_SECOND, 0.0) for factor in (self.median, self.late))
        return now + median, now + max(late, median)


def situation(job: Job, *, runs: bool, promised: bool) -> str:
    """What decides about how good a forecast is: whether it has slots, has a promise, and whose its curve is."""
    return situation_of(runs=runs, promised=promised, curve=_origin(job))


def situation_of(*, runs: bool, promised: bool, curve: str = "given") -> str:
    """The same from its parts; `curve` is `given`, `measured`, `profile` or `unknown`."""
    return f"{RUNS if runs else WAITS}/{'promised' if promised else 'free'}/{curve}"


def _origin(job: Job) -> str:
    if being_measured(job) or not job.curve:
        return "unknown"
    if job.curve_from or (job.spec.profile and not job.spec.curve):
        return "profile"
    return "measured" if job.spec.auto else "given"


def ratio(told: Foretold, ended_at: float) -> float:
    """How long it took, in parts of how long it was estimated to take."""
    taken = max(ended_at - told.at, 0.0) + A_SECOND
    return min(max(taken / (max(told.estimate - told.at, 0.0) + A_SECOND), LEAST), MOST)


def noted(past: Sequence[tuple[float, float]], told: Foretold, ended_at: float) -> list[tuple[float, float]]:
    """What is remembered of a situation, with one more forecast whose truth is known."""
    known = [(at, one) for at, one in past]  # the store gives lists of lists
    return sorted([*known, (round(told.at, 1), round(ratio(told, ended_at), 4))])[-MOST_KEPT:]


def past_in(meta: Callable[[str], Any]) -> Past:
    """What became of forecasts so far, looked up in the store."""
    return {where: known for where in SITUATIONS if (known := meta(RATIOS + where))}


def by_situation(foretold: Iterable[Foretold]) -> Mapping[str, Foretold]:
    """What was foretold of a job: once for each situation it was in, however many moments fell together."""
    return {told.situation: told for told in foretold}


def cohorts(past: Past, live: Iterable[Sequence[Foretold]], now: float) -> Cohorts:
    """The forecasts made last, done or not: `live` is what was foretold of the jobs that are still on their way."""
    found = {where: [Known(at, one, True) for at, one in known] for where, known in past.items()}
    for foretold in live:
        for where, told in by_situation(foretold).items():
            found.setdefault(where, []).append(Known(told.at, ratio(told, now), False))
    return {where: sorted(known)[-MOST_KEPT:] for where, known in found.items()}


def factors(known: Cohorts, where: str) -> Factors:
    """What is known about a situation; of others like it, and what is believed, as far as it is too little."""
    own = known.get(where, ())
    lacking = max(1.0 - sum(one.over for one in own) / ENOUGH, 0.0)
    sample = [(one.ratio, not one.over, 1.0) for one in own]
    if lacking:
        state, sigma = where.partition("/")[0], _SIGMA.get(where.rpartition("/")[2], 0.0)
        akin = [one for name in known if name != where and name.startswith(state) for one in known[name]]
        weight = lacking * min(ENOUGH / max(len(akin), 1), 1.0)
        sample += [(one.ratio, not one.over, weight) for one in akin]
        sample += [(exp(sigma * normal), False, lacking * BELIEF / len(_NORMAL)) for normal in _NORMAL]
    sample.sort()
    return Factors(_quantile(sample, MEDIAN), _quantile(sample, LATE))


def _quantile(sample: Sequence[tuple[float, bool, float]], part: float) -> float:
    """The value below which the next one falls with this probability, of (value, whether it will grow, weight).

    Whoever will grow is shared out among the larger ones. The next one is one more, larger than all.
    """
    at_risk = sum(weight for _, _, weight in sample) + 1.0
    above = 1.0
    for value, grows, weight in sample:
        if not grows:
            above *= 1.0 - weight / at_risk
            if above <= 1.0 - part + 1e-9:
                return value
        at_risk -= weight
    return sample[-1][0]
