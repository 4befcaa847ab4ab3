"""What a rescale costs: as the settings say, or as it was measured where jobs rescale in place.

Policies reckon with one cost for all jobs of a round. So the measured one counts only while every live job rescales in
place; a single job that is restarted from its checkpoint instead makes the larger cost the one in force.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from tenuto.model.job import IN_PLACE

PAUSES = "pauses"
"""The store's name for what was measured: milliseconds by strategy, newest last."""
MOST_KEPT = 200
ENOUGH = 5
"""Pauses before which nothing can be said about the next one."""
QUANTILE, SAFETY = 0.9, 1.5
MAX_PAUSE_MILLISECONDS = 3_600_000.0
"""Longer ones are not remembered: workers report pauses, and one charge counts for all jobs."""
LEAST = 0.5
"""Seconds that are charged at least: between two rescales lies a round, and workers must be told of it."""

Stored = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Charge:
    """Seconds without progress that a round reckons for a rescale, and why so many."""

    seconds: float
    why: str


def with_pauses(stored: Stored, strategy: str, measured: Iterable[float]) -> dict[str, list[float]]:
    """The store's pauses with further ones, in milliseconds."""
    fine = [round(pause, 3) for pause in measured if 0.0 <= pause <= MAX_PAUSE_MILLISECONDS]
    kept = [*stored.get(strategy, ()), *fine][-MOST_KEPT:]
    return {**{name: list(pauses) for name, pauses in stored.items()}, strategy: kept}


def rescale_charge(configured: float, stored: Stored, strategies: Iterable[str]) -> Charge:
    """What a rescale costs while jobs of these strategies live."""
    alive = frozenset(strategies)
    measured = [_measured(stored, strategy) for strategy in sorted(alive & IN_PLACE)]
    if not measured:
        return Charge(configured, "as set: no live job rescales in place")
    if any(charge is None for charge in measured):
        return Charge(configured, f"as set: fewer than {ENOUGH} rescales in place were measured")
    dearest = max((charge for charge in measured if charge is not None), key=lambda charge: charge.seconds)
    if alive - IN_PLACE and configured > dearest.seconds:
        return Charge(configured, "as set: some live jobs are restarted to be rescaled")
    return dearest


def _measured(stored: Stored, strategy: str) -> Charge | None:
    pauses = sorted(stored.get(strategy, ()))
    if len(pauses) < ENOUGH:
        return None
    high = pauses[ceil(QUANTILE * len(pauses)) - 1] / 1000.0
    why = f"measured: 9 of 10 pauses of the last {len(pauses)} rescales in place were below {high:.3g} s"
    return Charge(max(SAFETY * high, LEAST), why)
