"""Synthetic traces, drawn as the reference's generator draws them: same seed, same bytes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.sim.draws import TemplateDraws, WishDraws, Wishes, stream
from tenuto.sim.trace import Trace, in_order_of_submission

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from tenuto.model.curve import Profiles

# Up to which draw from 0 to 1 a job gets how many slots.
_SHARES = ((0.83, 1), (0.86, 2), (0.89, 4), (0.99, 8), (1.0, 16))

# Most jobs run for 10 minutes to 5 hours, the others for up to a week.
_LONG_JOBS = 0.8
_SHORT_MINUTES = (1.0, 2.5)
_LONG_MINUTES = (2.5, 4.0)


MOST_JOBS = 1_000_000
"""Sixty times the largest public trace; a slip of the finger must not fill the memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorOptions:
    """What a synthetic trace should be like."""

    jobs: int
    mean_interarrival: float
    """Seconds between two submissions on average; at 0 all jobs come at once."""
    seed: int = 0
    max_slots: int = 16
    min_tightness: float = 0.5
    """Least time until the deadline, as a multiple of the duration on the requested slots."""
    max_tightness: float = 1.5
    best_effort_share: float = 0.0

    @property
    def wishes(self) -> Wishes:
        """How deadlines and best-effort jobs are dealt out."""
        return Wishes(self.min_tightness, self.max_tightness, self.best_effort_share)


def generate(options: GeneratorOptions, profiles: Profiles) -> Trace:
    """Draw a trace. Times and steps are whole, as in the file, so that reading it back changes nothing."""
    _check(options)
    templates = TemplateDraws(options.seed, profiles)
    arrivals = _arrivals(stream(options.seed + 1), options.mean_interarrival)
    durations = stream(options.seed + 2)
    sizes = stream(options.seed + 3)
    wishes = WishDraws(options.seed, options.wishes)
    _check_sizes(options, templates)

    jobs = []
    for submitted in itertools.islice(arrivals, options.jobs):
        slots = min(_slots(sizes), options.max_slots)
        model, batch = templates.draw(slots)
        duration = _duration(durations)
        steps = duration * profiles.curves[model, batch].rate[slots]
        deadline = submitted + wishes.seconds_allowed(duration)
        best_effort = wishes.best_effort()
        jobs.append((model, batch, submitted, steps, deadline, best_effort, slots, duration))
    return _trace(f"generated-{options.jobs}-seed-{options.seed}", jobs)


def _arrivals(draws: Random, mean: float) -> Iterator[float]:
    time = 0.0
    while True:
        yield time
        if mean > 0:
            time += -math.log(1.0 - draws.random()) * mean


def _slots(draws: Random) -> int:
    draw = draws.uniform(0, 1)
    return next(slots for bound, slots in _SHARES if draw <= bound)


def _duration(draws: Random) -> float:
    minutes = _LONG_MINUTES if draws.random() >= _LONG_JOBS else _SHORT_MINUTES
    return float(60 * 10 ** draws.uniform(*minutes))


def _trace(name: str, jobs: list[tuple[str, int, float, float, float, bool, int, float]]) -> Trace:
    models, batch, submitted, steps, deadline, best_effort, slots, duration = zip(*jobs, strict=True)
    marks = np.array(best_effort)
    positions = np.arange(len(jobs), dtype=np.int64)
    return in_order_of_submission(
        Trace(
            name=name,
            source=name,
            ids=tuple(map(str, range(len(jobs)))),
            models=models,
            batch=np.array(batch, dtype=np.int64),
            submitted=np.trunc(submitted),
            steps=np.maximum(1, np.trunc(steps)),
            deadline=np.where(marks, np.inf, np.trunc(deadline)),
            best_effort=marks,
            requested=np.array(slots, dtype=np.int64),
            duration=np.trunc(duration),
            position=positions,
            line=positions + 2,
        )
    )


def _check(options: GeneratorOptions) -> None:
    if options.jobs < 1:
        raise InputInvalid(f"{options.jobs} jobs make no trace", remedy="Choose --jobs of 1 or more")
    if options.jobs > MOST_JOBS:
        raise InputInvalid(
            f"{options.jobs:,} jobs are too many", remedy=f"Choose --jobs of {MOST_JOBS:,} or less"
        )
    if not 0 <= options.mean_interarrival < math.inf:
        raise InputInvalid(
            f"jobs cannot come every {options.mean_interarrival:g} s",
            remedy="Choose --interarrival of 0 seconds (all at once) or more",
        )
    if options.max_slots < 1:
        raise InputInvalid(
            f"a job cannot run on {options.max_slots} slots", remedy="Choose --max-slots of 1 or more"
        )


def _check_sizes(options: GeneratorOptions, templates: TemplateDraws) -> None:
    possible = templates.sizes()
    for wanted in (min(slots, options.max_slots) for _, slots in _SHARES):
        if wanted not in possible:
            raise InputInvalid(
                f"no profiled model runs on {wanted} slots",
                remedy=f"Choose --max-slots among {', '.join(map(str, sorted(possible)))}",
            )
