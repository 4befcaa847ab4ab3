"""Measuring the curve of a job that asked for it (`curve: auto`), while it trains.

The job runs at a few sizes, one after the other, as a job without a deadline: so measuring breaks no promise. At
each size it stays until its workers have reported enough steps. Then it has a curve, and its deadline is answered
like a newcomer's. What is measured is kept in the job's record at once; only the steps of the present size are
held in memory, and after a restart of the controller that size is measured anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf

from tenuto.forecast.profiles import with_profile
from tenuto.forecast.rates import being_measured, next_to_measure, sizes_to_measure
from tenuto.model.job import Contract, Ending, Job, Reply
from tenuto.model.phase import PLACED, Phase
from tenuto.settings import Learning
from tenuto.store.base import Tx
from tenuto.wire.worker import WORKER, WorkerSeen, WorkerState

WAITING = -1
"""The generation of a job that is not at the size to be measured."""
PROFILES = "profiles"
"""The store's name for curves that were measured."""
NO_STEPS = "no_steps_reported"
"""Why a job is declined whose command tells nothing of its steps."""
NO_TOTAL = "no_total_reported"
"""Why a job is declined of which nobody says how many steps it has."""


@dataclass(frozen=True, slots=True)
class Track:
    """What was seen of one job at one size."""

    generation: int
    since: float
    """When it was first seen at this size, or waiting for it."""
    running: bool = False
    """Whether all its workers run; the time before does not count."""
    reported: float | None = None
    """The last step that was seen."""
    first: tuple[float, float] | None = None
    """The first moment at which the step was seen to change, and that step."""
    last: tuple[float, float] | None = None
    """The last such moment."""

    @property
    def steps(self) -> float:
        """Steps between the first change and the last."""
        return 0.0 if self.first is None or self.last is None else self.last[1] - self.first[1]

    @property
    def seconds(self) -> float:
        """Seconds between them."""
        return 0.0 if self.first is None or self.last is None else self.last[0] - self.first[0]


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


def note_steps(track: Track | None, job: Job, seen: Iterable[WorkerSeen], now: float) -> Track:
    """Add what the workers report now to what was seen before."""
    if track is None or track.generation != job.generation:
        track = Track(job.generation, now)
    workers = [
        one
        for one in seen
        if one.id.job == job.id and one.id.generation == job.generation and one.id.role == WORKER
    ]
    running = len(workers) == job.workers > 0 and all(one.state is WorkerState.RUNNING for one in workers)
    if not running:
        return track
    if not track.running:
        track = replace(track, running=True, since=now)
    step = max((one.step for one in workers if one.step is not None), default=None)
    if step is None or track.reported == step:
        return track
    if track.reported is None or step < track.reported:  # a command that goes back to its last checkpoint
        return replace(track, reported=step, first=None, last=None)
    return replace(track, reported=step, first=track.first or (now, step), last=(now, step))


def rate_of(track: Track, now: float, settings: Learning) -> float | None:
    """Steps per second at this size; 0 if nothing was reported in time, None if more must be seen."""
    many = track.steps >= settings.steps and track.seconds >= settings.least
    long = track.steps > 0.0 and track.seconds >= settings.seconds
    over = track.running and now >= track.since + settings.patience
    if many or long or (over and track.steps > 0.0 and track.seconds > 0.0):
        return track.steps / track.seconds
    return 0.0 if over else None


def keep_profile(tx: Tx, before: Job, after: Job) -> None:
    """Keep a curve whose measuring has ended, so that later jobs find it by the name of the profile or the job."""
    if being_measured(before) and not being_measured(after) and after.curve and after.ending is None:
        tx.set_meta(PROFILES, with_profile(tx.meta(PROFILES) or {}, after.spec, after.curve))


class Learner:
    """Watches the jobs that are being measured. Belongs to the controller; forgets at a restart."""

    def __init__(self, settings: Learning) -> None:
        self._settings = settings
        self._tracks: dict[str, Track] = {}

    def note(self, job: Job, seen: Iterable[WorkerSeen], now: float, within: int) -> Job | None:
        """Look at a job whose contract says MEASURING; what its record must become, or None for no change."""
        contract = job.contract
        if not being_measured(job) or contract is None:
            self._tracks.pop(job.id, None)
            return None
        size = next_to_measure(job, within)
        track = self._track(job, seen, now, size)
        rate = rate_of(track, now, self._settings)
        if rate:
            return self._next(replace(job, curve={**job.curve, size: rate}), now, within)
        if rate == 0.0 or (job.curve and (size == 0 or self._waits_too_long(track, now))):
            return self._ended(job)
        if contract.firm_at is not None and now > contract.firm_at:
            return replace(job, contract=plan_measuring(job, now, within, self._settings))
        return None

    def next_look(self, now: float) -> float:
        """When patience with one of the jobs ends next; `inf` for never."""
        ends = (track.since + self._settings.patience for track in self._tracks.values())
        return min((end for end in ends if end > now), default=inf)

    def _track(self, job: Job, seen: Iterable[WorkerSeen], now: float, size: int) -> Track:
        before = self._tracks.get(job.id)
        if job.phase in PLACED and job.workers == size:
            track = note_steps(before, job, seen, now)
        else:
            track = before if before is not None and before.generation == WAITING else Track(WAITING, now)
        self._tracks[job.id] = track
        return track

    def _waits_too_long(self, track: Track, now: float) -> bool:
        """Whether there is no room for the size to be measured."""
        return track.generation == WAITING and now >= track.since + self._settings.patience

    def _next(self, job: Job, now: float, within: int) -> Job:
        self._tracks.pop(job.id, None)
        if next_to_measure(job, within):
            return replace(job, contract=plan_measuring(job, now, within, self._settings))
        return self._ended(job)

    def _ended(self, job: Job) -> Job:
        """With a curve the deadline can be answered; without one it never can."""
        self._tracks.pop(job.id, None)
        if job.curve and not job.total:
            message = (
                "declined: nobody said how much work it is; give total: {steps: 1000}, or write lines such as "
                '{"step": 12, "total": 1000} to the file named by TENUTO_REPORT'
            )
            return replace(job, ending=Ending(phase=Phase.DECLINED, why=NO_TOTAL, message=message))
        if job.curve:
            return replace(job, contract=None)
        message = (
            "declined: its command reported no steps, so that its speed is unknown; write lines such as "
            '{"step": 12} to the file named by TENUTO_REPORT, or give a curve such as curve: {1: 3.2, 2: 6.0}'
        )
        return replace(job, ending=Ending(phase=Phase.DECLINED, why=NO_STEPS, message=message))
