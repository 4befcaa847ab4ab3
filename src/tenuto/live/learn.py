"""Measuring the curve of a job that asked for it (`curve: auto`), while it trains.

The job runs at a few sizes, one after the other, as a job without a deadline: so measuring breaks no promise. At
each size it stays until its workers have reported enough steps. Then it has a curve, and its deadline is answered
like a newcomer's. What is measured is kept in the job's record at once; only the steps of the present size are
held in memory, and after a restart of the controller that size is measured anew.

Where workers tell their seconds per step in records, the server has reckoned their pace already; of others the
steps are watched as they are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

from tenuto.forecast.contract import estimated_anew
from tenuto.forecast.measured import CURVES, Paces, Stretch, paces_key, refined
from tenuto.forecast.measuring import plan_measuring
from tenuto.forecast.profiles import with_profile
from tenuto.forecast.rates import being_measured, next_to_measure
from tenuto.live.change import Change
from tenuto.model.curve import is_usable_rate
from tenuto.model.job import Ending, Job
from tenuto.model.phase import PLACED, Phase
from tenuto.settings import Learning
from tenuto.store.base import Tx
from tenuto.wire.worker import WORKER, WorkerSeen, WorkerState

WAITING = -1
"""The generation of a job that is not at the size to be measured."""
PROFILES = "profiles"
"""The store's name for curves that were measured."""
READ_EVERY = 2.0
"""Seconds between two looks at what records tell of jobs that nobody waits for."""
ANOTHER_PACE = 0.1
"""By how much a pace must differ from the known one to be worth another record."""
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


def _is_unknown(job: Job) -> bool:
    """Whether a job runs of which nobody knows how fast it is."""
    return not job.curve and not being_measured(job) and job.phase in PLACED and not job.spec.epochs


def note_steps(track: Track | None, job: Job, seen: Iterable[WorkerSeen], now: float) -> Track:
    """Add what the workers report now to what was seen before."""
    workers = [
        one for one in seen if one.id.job == job.id and one.id.role == WORKER and _is_present(job, one)
    ]
    generation = _generation(job, workers)
    if generation is None:
        return track if track is not None and track.generation != WAITING else Track(job.generation, now)
    if track is None or track.generation != generation:
        track = Track(generation, now)
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


def _is_present(job: Job, worker: WorkerSeen) -> bool:
    """Whether a worker is one of today's; of jobs that rescale in place only those are shown."""
    return job.spec.in_place or worker.id.generation == job.generation


def _generation(job: Job, workers: Sequence[WorkerSeen]) -> int | None:
    """The generation to which steps are counted; None while workers that rescale in place are in several."""
    if not job.spec.in_place:
        return job.generation
    joined = {one.generation for one in workers}
    return joined.pop() if len(workers) == job.workers and len(joined) == 1 else None


def rate_of(track: Track, now: float, settings: Learning) -> float | None:
    """Steps per second at this size; 0 if nothing was reported in time, None if more must be seen."""
    many = track.steps >= settings.steps and track.seconds >= settings.least
    long = track.steps > 0.0 and track.seconds >= settings.seconds
    over = track.running and now >= track.since + settings.patience
    if many or long or (over and track.steps > 0.0 and track.seconds > 0.0):
        rate = track.steps / track.seconds
        return rate if is_usable_rate(rate) else 0.0
    return 0.0 if over else None


def keep_profile(tx: Tx, before: Job, after: Job) -> None:
    """Keep a curve whose measuring has ended: for jobs that name it, and for others of the same kind."""
    if not being_measured(before) or being_measured(after):
        return
    tx.set_meta(paces_key(after.id), None)
    if not after.curve or after.ending is not None:
        return
    tx.set_meta(PROFILES, with_profile(tx.meta(PROFILES) or {}, after.spec, after.curve))
    at = after.progress.as_of
    stretches = [Stretch(size=size, rate=rate, at=at) for size, rate in after.curve.items()]
    tx.set_meta(CURVES, refined(tx.meta(CURVES) or {}, after.spec, _kind(tx, before), stretches))


def _kind(tx: Tx, job: Job) -> str:
    """The kind of device that a job was measured on."""
    for name, slots in sorted(job.slots.items()):
        node = tx.node(name)
        if node is not None and slots and slots[0] < len(node.slots):
            return node.slots[slots[0]].kind
    return "cpu"


class Learner:
    """Watches the jobs that are being measured. Belongs to the controller; forgets at a restart."""

    def __init__(self, settings: Learning) -> None:
        self._settings = settings
        self._tracks: dict[str, Track] = {}
        self._paces: Mapping[str, Paces] = {}
        self._read_at = -inf

    def read(self, tx: Tx, jobs: Iterable[Job], now: float) -> None:
        """Look up what records tell of jobs that are being measured; now and then, of others without a curve."""
        wanted = [job for job in jobs if being_measured(job) or _is_unknown(job)]
        if due := now >= self._read_at + READ_EVERY:
            self._read_at = now
        self._paces = {
            job.id: (tx.meta(paces_key(job.id)) or {})
            if due or being_measured(job)
            else self._paces.get(job.id, {})
            for job in wanted
        }

    def concerns(self, job: Job) -> bool:
        """Whether there is anything to learn about a job, or was."""
        return not job.curve or being_measured(job) or job.id in self._tracks

    def paced(self, change: Change) -> Change:
        """Reckon with the pace that a job without a curve has shown; other sizes in proportion."""
        job = change.job
        rate = self._told(job, job.workers) if _is_unknown(job) else None
        if rate is None or (job.pace and abs(rate / job.workers / job.pace - 1.0) < ANOTHER_PACE):
            return change
        progress = replace(job.progress, left=change.left, as_of=change.at, speed=rate)
        change = change.put(pace=rate / job.workers, progress=progress)
        if not job.total or job.contract is None:
            return change
        finish = change.at + change.left / rate
        return change.put(contract=estimated_anew(job.contract, change.at, finish))

    def note(self, job: Job, seen: Iterable[WorkerSeen], now: float, within: int) -> Job | None:
        """Look at a job whose contract says MEASURING; what its record must become, or None for no change."""
        contract = job.contract
        if not being_measured(job) or contract is None:
            self._tracks.pop(job.id, None)
            return None
        size = next_to_measure(job, within)
        track = self._track(job, seen, now, size)
        rate = self._told(job, size) or rate_of(track, now, self._settings)
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

    def _told(self, job: Job, size: int) -> float | None:
        """The rate at a size as records tell it; None if they do not, or not enough yet."""
        told = self._paces.get(job.id, {}).get(str(size))
        if told is None:
            return None
        many = told["steps"] >= self._settings.steps and told["seconds"] >= self._settings.least
        if not many and told["seconds"] < self._settings.seconds:
            return None
        rate = told["steps"] / told["seconds"]
        return rate if is_usable_rate(rate) else None

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
