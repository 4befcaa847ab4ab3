"""What is told of a job that does not use the GPUs it holds, and what its owner can do."""

from __future__ import annotations

from tenuto.forecast.case import Case, counted, slots_of
from tenuto.forecast.remedies import Remedy
from tenuto.model.phase import OPEN_PROMISES


def told_unused(case: Case) -> tuple[str, ...]:
    """That it is so, since when, and what was done about it; nothing if it uses them."""
    job = case.job
    if job.idle_since is None:
        return ()
    gpus = slots_of(job)
    which = "its GPU" if gpus == 1 else f"any of its {gpus} GPUs"
    said = f"It has not used {which} since {case.at(job.idle_since)}."
    if not job.shrunk:
        return (said,)
    least = counted(job.spec.min_workers, "worker")
    return (
        said,
        f"It was shrunk to {least}, its least size, for that; it may grow again as soon as it works.",
    )


def help_unused(case: Case) -> tuple[Remedy, ...]:
    """What can be done with such a job."""
    job = case.job
    if job.idle_since is None:
        return ()
    remedies = [Remedy("do", "see what it is doing", f"tenuto logs {job.id} --tail 20")]
    if job.shrunk:
        remedies.append(Remedy("do", "leave its size to the policy again", f"tenuto scale {job.id} auto"))
    if job.promise in OPEN_PROMISES:  # whoever gives its slots away may lose the promise with them
        return tuple(remedies)
    if job.pin is None and job.workers > job.spec.min_workers and not job.shrunk:
        least = job.spec.min_workers
        said = f"keep {counted(least, 'GPU')} for it and give the others back"
        remedies.append(Remedy("do", said, f"tenuto scale {job.id} {least}"))
    remedies.append(Remedy("do", "give its GPUs back until it has work", f"tenuto pause {job.id}"))
    return tuple(remedies)
