"""How fast a job runs at each size it may have now: its curve, its limits and its pin as one row of numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from tenuto.model.job import Job, Reply
from tenuto.model.phase import PLACED

MOST_MEASURED = 3
"""Sizes that are measured for `curve: auto`: more would keep the user waiting for little."""


class Terms(NamedTuple):
    """What a job's rates depend on; the same terms give the same rates."""

    curve: tuple[tuple[int, float], ...]
    least: int
    most: int
    exactly: int
    """The only size allowed; 0 if there is a choice."""
    held: int
    """The size it runs at now, which it may keep; 0 if none."""
    within: int
    """More slots than this cannot be had where it may run."""
    pace: float = 1.0
    """Steps per second of one worker, where there is no curve: told by the job, or just any number."""


Rates = tuple[tuple[int, float], ...]
"""Sizes, ascending, with their steps per second, all above 0."""


def rate_at(curve: Mapping[int, float], size: int) -> tuple[float, bool]:
    """Steps per second at a size, and whether that is a guess between measured sizes.

    Between two sizes on a straight line; below the smallest in proportion; above the largest no faster than
    there, because a promise must not rest on hope.
    """
    if size in curve:
        return curve[size], False
    known = sorted(curve)
    above = bisect_left(known, size)
    if above == 0:
        return curve[known[0]] * size / known[0], True
    if above == len(known):
        return curve[known[-1]], True
    low, high = known[above - 1], known[above]
    part = (size - low) / (high - low)
    return curve[low] + part * (curve[high] - curve[low]), True


def interpolated(job: Job) -> tuple[int, ...]:
    """The sizes that a job may have now and that its curve does not know."""
    if not job.curve:
        return ()
    return tuple(size for size, _ in rates_of(terms_of(job, job.spec.max_workers)) if size not in job.curve)


def being_measured(job: Job) -> bool:
    """Whether a job runs at given sizes for its curve's sake, and its deadline is not answered yet."""
    if not job.spec.auto or job.deadline is None:
        return False
    if job.contract is None:
        return not job.curve
    return job.contract.reply is Reply.MEASURING


def sizes_to_measure(job: Job, within: int) -> tuple[int, ...]:
    """The smallest size, then doubled up to the largest that can be had, a few at most; or the pinned one."""
    if job.pin is not None:
        return sizes_between(job.pin.workers, job.pin.workers, within)
    return sizes_between(job.spec.min_workers, job.spec.max_workers, within)


def sizes_between(least: int, most: int, within: int) -> tuple[int, ...]:
    """The sizes that tell enough about a job with these limits where so many slots are."""
    sizes: list[int] = []
    size, most = least, min(most, within)
    while size <= most and len(sizes) < MOST_MEASURED:
        sizes.append(size)
        size *= 2
    return tuple(sizes)


def next_to_measure(job: Job, within: int) -> int:
    """The size to measure now; 0 if all are done."""
    return next((size for size in sizes_to_measure(job, within) if size not in job.curve), 0)


def terms_of(job: Job, within: int) -> Terms:
    """What decides about a job's rates, if no more than `within` slots can be had where it may run."""
    spec = job.spec
    held = job.workers if job.phase in PLACED else 0
    pinned = _only_size(job)
    if being_measured(job):
        exactly = next_to_measure(job, within) or pinned or held or spec.min_workers
        return Terms((), spec.min_workers, spec.max_workers, exactly, 0, within)
    curve = tuple(sorted(job.curve.items()))
    free = 0 if pinned else held
    return Terms(curve, spec.min_workers, spec.max_workers, pinned, free, within, job.pace or 1.0)


def _only_size(job: Job) -> int:
    """The size that its owner has fixed, or the least one if it does not use its GPUs; 0 if there is a choice."""
    if job.pin is not None:
        return job.pin.workers
    return job.spec.min_workers if job.shrunk else 0


@lru_cache(maxsize=4096)
def rates_of(terms: Terms) -> Rates:
    """Every size that is allowed and can be had, with its rate; none if there is no such size."""
    curve = {size: rate for size, rate in terms.curve if rate > 0.0}
    if terms.exactly:
        sizes = {terms.exactly}
    elif curve:
        sizes = {size for size in curve if terms.least <= size <= terms.most} or {terms.least, terms.most}
    else:
        sizes = _powers_between(terms.least, terms.most)
    if terms.least <= terms.held <= terms.most:
        sizes.add(terms.held)
    fitting = sorted(size for size in sizes if 0 < size <= terms.within)
    return tuple((size, rate_at(curve, size)[0] if curve else terms.pace * size) for size in fitting)


def _powers_between(least: int, most: int) -> set[int]:
    sizes, size = {least, most}, 1
    while size <= most:
        if size >= least:
            sizes.add(size)
        size *= 2
    return sizes
