"""Which jobs lose how much when their files together take more room than there is. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class JobUse:
    """The files of one job."""

    job: str
    bytes: int
    ended_at: float | None
    """Unix seconds; None while it lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """What a job is to lose."""

    job: str
    bytes: int
    """At least so many, if the job has them; whole parts are removed."""


def plan_cuts(uses: Sequence[JobUse], quota: int, job_share: float) -> list[Cut]:
    """What to remove so that at most `quota` bytes are left, in the order in which it is to be removed.

    First the jobs that hold more than `job_share` of the quota are cut down to it, so that one job cannot displace
    the others. Then jobs that have ended go, the one that ended first before the others. What is still missing is
    taken from the jobs that live: the largest are cut to one size.
    """
    excess = sum(use.bytes for use in uses) - quota
    left = {use.job: use.bytes for use in uses}
    cuts: list[Cut] = []
    for job, amount in _candidates(uses, quota, job_share, left):
        if excess <= 0:
            break
        size = min(amount, excess)
        if size > 0:
            cuts.append(Cut(job=job, bytes=size))
            left[job] -= size
            excess -= size
    return cuts


def _candidates(
    uses: Sequence[JobUse], quota: int, job_share: float, left: dict[str, int]
) -> Iterator[tuple[str, int]]:
    """What may go, in order; `left` is brought up to date by the caller."""
    share = max(int(quota * job_share), 0)
    for use in sorted(uses, key=lambda use: -use.bytes):
        yield use.job, left[use.job] - share
    ended = [use for use in uses if use.ended_at is not None]
    for use in sorted(ended, key=lambda use: use.ended_at or 0.0):
        yield use.job, left[use.job]
    live = {use.job: left[use.job] for use in uses if use.ended_at is None}
    level = common_size(list(live.values()), quota)
    for job, size in live.items():
        yield job, size - level


def common_size(sizes: Sequence[int], total: int) -> int:
    """The largest size to which all may be cut so that together they are at most `total`."""
    room, count = total, len(sizes)
    for size in sorted(sizes):
        if size * count >= room:
            return max(room // count, 0)
        room -= size
        count -= 1
    return max(sizes, default=0)
