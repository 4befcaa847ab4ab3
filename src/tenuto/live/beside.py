"""Who gets a place beside the slots that a round has given out: jobs without GPUs, and guests of jobs that share. Pure.

Rounds know nothing of either: to a policy a guest is a job that waits, and a job without GPUs is not there. So
nobody here delays a promise; who is in the way of what a round has decided leaves in the same act.
"""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.live.change import Change
from tenuto.live.guests import guests
from tenuto.live.seats import House
from tenuto.live.without_gpu import placed_without_gpu


def beside(changes: Mapping[str, Change], house: House) -> Mapping[str, Change]:
    """The changes of a tick, with those of jobs that are not on slots of their own."""
    without_gpu = [change for change in changes.values() if change.job.spec.cpu_only]
    sharers = [change for change in changes.values() if change.job.spec.share]
    if not without_gpu and not sharers:
        return changes
    after = {
        change.job.id: change
        for change in (*placed_without_gpu(without_gpu, house), *guests(changes, sharers, house))
    }
    return {**changes, **after}
