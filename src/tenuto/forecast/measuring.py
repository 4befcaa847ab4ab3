"""The first answer to a job whose curve must be measured: how that will be done, and when the firm answer comes."""

from __future__ import annotations

from tenuto.forecast.rates import sizes_to_measure
from tenuto.model.job import Contract, Job, Reply
from tenuto.settings import Learning


def plan_measuring(job: Job, now: float, within: int, settings: Learning) -> Contract:
    """The first answer to a job whose curve must be measured: when the firm answer will be given.

    `within` is the number of slots of the cluster.
    """
    todo = [size for size in sizes_to_measure(job, within) if size not in job.curve]
    sizes = ", ".join(map(str, todo)) or "no"
    workers = "1 worker" if todo == [1] else f"{sizes} workers" + (" in turn" if len(todo) > 1 else "")
    return Contract(
        reply=Reply.MEASURING,
        why="curve_unknown",
        message=f"measuring: runs on {workers} without a promise; then its deadline is answered",
        answered_at=now,
        firm_at=now + settings.patience * max(len(todo), 1),
    )
