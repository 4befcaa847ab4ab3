"""A curve: how fast a job runs at each number of slots. Profiles are named collections of curves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MIN_RATE, MAX_RATE = 1e-9, 1e15
"""Steps per second that a curve may hold: work divided by such a rate is always a finite number of seconds."""


def is_usable_rate(rate: float) -> bool:
    """Whether a round and a forecast can reckon with a rate; NaN and infinities are none."""
    return MIN_RATE <= rate <= MAX_RATE


@dataclass(frozen=True, slots=True)
class Curve:
    """Steps per second at each measured size; sizes at which the job cannot run are left out."""

    rate: Mapping[int, float]

    def worth_using(self) -> Curve:
        """Drop every size that is no faster than a smaller one: more slots would only be wasted."""
        kept: dict[int, float] = {}
        for size, rate in sorted(self.rate.items()):
            if rate > max(kept.values(), default=0.0):
                kept[size] = rate
        return Curve(kept)


@dataclass(frozen=True, slots=True)
class Profiles:
    """The curves of one kind of GPU, by model and global batch size, with where they come from."""

    name: str
    source: str
    curves: Mapping[tuple[str, int], Curve]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every size that at least one curve knows, ascending."""
        return tuple(sorted({size for curve in self.curves.values() for size in curve.rate}))

    def models(self) -> tuple[str, ...]:
        """The names of the profiled models, sorted."""
        return tuple(sorted({model for model, _ in self.curves}))

    def batches(self, model: str) -> tuple[int, ...]:
        """The global batch sizes at which a model was profiled, ascending."""
        return tuple(sorted(batch for name, batch in self.curves if name == model))
