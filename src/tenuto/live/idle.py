"""Jobs that hold GPUs and do not use them: who they are, since when, and what is done about it.

A job is idle if every GPU that it holds has been below a few percent of utilisation for a while in which it was
running. What nobody can tell is never idle; a job that has just started or changed its size is given time. The use of a
GPU counts for all who are on it: NVML tells it of the GPU, not of each process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf

from tenuto.forecast.rates import being_measured
from tenuto.live.change import Change
from tenuto.live.seats import is_left_alone
from tenuto.live.sight import Sight
from tenuto.model.job import IGNORE, SHRINK, Job
from tenuto.model.phase import OPEN_PROMISES, Phase
from tenuto.monitor.usage import GpuUse, GpuUses
from tenuto.settings import Idle
from tenuto.wire.quantities import rfc3339

LOOKS_EVERY = 10.0
"""Seconds between two looks, at most."""
LOOKS = 10
"""Looks in the time after which a job counts as idle, at least."""
SETTLES = 60.0
"""Seconds after a start or a rescale in which use is no sign of work, at most: loading what was saved is use too."""


class Idleness:
    """Looks now and then which jobs do not use what they hold. Belongs to the controller."""

    def __init__(self, settings: Idle, uses: GpuUses | None) -> None:
        """Without `uses` nobody tells anything of GPUs, and no job is idle."""
        self._settings = settings
        self._uses = uses
        self._looked_at = -inf

    def look(self, changes: Mapping[str, Change], sight: Sight, now: float) -> Mapping[str, Change]:
        """The changes of a tick, with those of jobs that have become idle or work again."""
        if self._uses is None or now < self.next_look:
            return changes
        self._looked_at = now
        found = {
            id_: after
            for id_, change in changes.items()
            if (after := judged(change, Evidence(self._uses, sight, self._settings))) is not change
        }
        return {**changes, **found} if found else changes

    def forget(self, node: str) -> None:
        """A node was removed."""
        if self._uses is not None:
            self._uses.forget(node)

    @property
    def next_look(self) -> float:
        """When the next one is due; never if nobody tells anything."""
        if self._uses is None:
            return inf
        if not self._settings.after:
            return self._looked_at + LOOKS_EVERY
        return self._looked_at + min(self._settings.after / LOOKS, LOOKS_EVERY)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What jobs are judged by."""

    uses: GpuUses
    sight: Sight
    settings: Idle


def judged(change: Change, evidence: Evidence) -> Change:
    """One job, idle or not."""
    job, settings = change.job, evidence.settings
    if job.phase is not Phase.RUNNING or not job.slots or not is_left_alone(job):
        return change
    if not settings.after or job.spec.idle == IGNORE:
        return (
            change if job.idle_since is None else _works(change, "nobody looks for its use of GPUs any more")
        )
    gpus = list(_gpus(job, evidence))
    if not gpus or None in gpus:
        return change
    known = [gpu for gpu in gpus if gpu is not None]
    settled = _settled_at(job, evidence.sight)
    if job.idle_since is None:
        since = _idle_since(known, settled)
        is_idle = since is not None and _known_until(known, change.at) - since >= settings.after
        return _idle(change, since, settings) if since is not None and is_idle else change
    begins_to_count = max(job.idle_since, settled + min(SETTLES, settings.after))
    if any(gpu.used_at is not None and gpu.used_at > begins_to_count for gpu in known):
        return _works(change, "uses its GPUs again")
    return change


def _gpus(job: Job, evidence: Evidence) -> Iterator[GpuUse | None]:
    """What is known of each GPU that a job holds; None where nothing is, as of a share of the processors."""
    for name, numbers in job.slots.items():
        node = evidence.sight.nodes.get(name)
        for number in numbers:
            device = node.slots[number].device if node is not None and number < len(node.slots) else ""
            yield evidence.uses.of(name, device) if device else None


def _settled_at(job: Job, sight: Sight) -> float:
    """When the workers of today had been started, as far as that is known."""
    started = (one.started_at for one in sight.expected(job) if one.started_at is not None)
    return max(job.progress.changed_at, job.progress.ready_at, *started)


def _idle_since(gpus: list[GpuUse], settled: float) -> float | None:
    """Since when none of them has been used; None if one is, or if nobody can tell."""
    quiet = [gpu.quiet_since for gpu in gpus if gpu.quiet_since is not None]
    return max(*quiet, settled) if len(quiet) == len(gpus) else None


def _known_until(gpus: list[GpuUse], now: float) -> float:
    """What was not sampled yet proves nothing, nor does a node's clock that is ahead of ours."""
    return min(now, *(gpu.at for gpu in gpus))


def _idle(change: Change, since: float, settings: Idle) -> Change:
    job = change.job
    gpus = sum(map(len, job.slots.values()))
    which = "its GPU" if gpus == 1 else f"any of its {gpus} GPUs"
    shrinks = _is_to_shrink(job, settings)
    after = "; it is shrunk to its least size" if shrinks else ""
    return change.put(idle_since=since, shrunk=shrinks).tell(
        "idle",
        before="busy",
        after="idle",
        reason=f"has not used {which} since {rfc3339(since)}: below {settings.below:g} % all the time{after}",
        data={"since": since, "gpus": gpus, "shrunk": shrinks},
    )


def _is_to_shrink(job: Job, settings: Idle) -> bool:
    """Whether it is held at its least size; not if its owner has fixed its size, and never at a promise's cost."""
    if not (job.spec.idle == SHRINK or (settings.shrink and not job.spec.idle)):
        return False
    if job.pin is not None or being_measured(job) or job.promise in OPEN_PROMISES:
        return False
    return job.workers > job.spec.min_workers


def _works(change: Change, reason: str) -> Change:
    return change.put(idle_since=None, shrunk=False).tell("busy", before="idle", after="busy", reason=reason)
