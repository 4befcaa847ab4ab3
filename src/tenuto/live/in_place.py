"""What becomes of a job that rescales in place when its workers come, train, fail or are lost. Pure.

A loss does not end a generation's work: the node that leads the job lets the survivors go on at once, without the
controller. Here the records follow: a worker that was killed is replaced in its slot, slots that cannot be used any
more are given up, and only if nobody or too few are left is the job started again from its checkpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tenuto.engines.launch import member_ids
from tenuto.live.change import Change, allocation, counted
from tenuto.live.generation import Place, begin, speed_at
from tenuto.live.sight import Sight, done
from tenuto.live.workers import (
    believe,
    count_loss,
    fail,
    is_to_blame,
    may_finish,
    requeue,
    runs,
    succeeded,
    tell_loss,
    too_often,
)
from tenuto.model.job import Job, Member
from tenuto.model.members import slots_of
from tenuto.model.node import NodeState
from tenuto.model.phase import PLACED, Phase
from tenuto.settings import Scheduling
from tenuto.wire.worker import ExitReason, WorkerId, WorkerSeen, WorkerState

P = Phase
TRAINS = frozenset({"training", "meeting", "finished"})
"""Stages of a worker that has joined its generation and got its state."""
FAILURES = frozenset({ExitReason.OUT_OF_MEMORY, ExitReason.NOT_STARTED, ExitReason.SETUP_FAILED})
"""Ends that would come again if the worker were replaced."""
LOST = "workers_lost"
_SIGNALS = 128


def look_at_crew(change: Change, sight: Sight, scheduling: Scheduling) -> Change:
    """Follow what the members do, and take them off places that cannot be used any more."""
    change = _caught_up(change, sight)
    job = change.job
    if may_finish(job) and sight.finished(job):
        return succeeded(change, sight)
    if job.phase not in PLACED or job.ending is not None:
        return change
    present = sight.present(job)
    gone = _gone(job, present, sight)
    if gone:
        return _go_on(change, gone, sight, scheduling)
    failed = [worker for worker in present.values() if _failed(worker)]
    if failed:
        first = min(failed, key=lambda worker: (worker.ended_at or 0.0, worker.id))
        to_blame = is_to_blame(change, first, sight)
        return fail(change, first, sight, scheduling.start_cost) if to_blame else change
    change = believe(change, list(present.values()))
    if job.phase is not P.RUNNING and _all_train(job, present, sight):
        return runs(change)
    return change


def _caught_up(change: Change, sight: Sight) -> Change:
    """Take over a generation that the job's leading node has issued on its own: the next plan must be newer."""
    reported = max((worker.generation or 0 for worker in sight.of(change.job.id)), default=0)
    return change.put(generation=reported) if reported > change.job.generation else change


def _failed(worker: WorkerSeen) -> bool:
    """Whether the program itself is to blame for a worker's end."""
    if worker.state is not WorkerState.EXITED:
        return False
    return worker.reason in FAILURES or (
        worker.reason in (None, ExitReason.ENDED) and 0 < (worker.exit_code or 0) < _SIGNALS
    )


def _all_train(job: Job, present: Mapping[WorkerId, WorkerSeen], sight: Sight) -> bool:
    """Whether all members have come together in one generation that nobody else is in."""
    members = [present.get(worker) for worker in member_ids(job)]
    joined = {worker.generation for worker in members if worker is not None}
    if len(joined) != 1 or not all(worker is not None and _trains(worker) for worker in members):
        return False
    (generation,) = joined
    # Not its number tells: a plan that was taken back before anybody followed it leaves the group as it was, and who
    # is to leave may still be in the group that newcomers have joined.
    others = (worker.id for worker in sight.shown(job.id) if worker.id not in present)
    return bool(generation) and all(sight.joined(worker) != generation for worker in others)


def _trains(worker: WorkerSeen) -> bool:
    if worker.state is WorkerState.EXITED:
        return done(worker, None)
    return worker.state is WorkerState.RUNNING and worker.stage in TRAINS


@dataclass(frozen=True)
class _Gone:
    """Why a member goes on no longer."""

    why: str
    what: str
    node: str
    lost: bool = False
    """Whether it is a loss, and not somebody's wish."""
    replaced: bool = False
    """Whether its slot can be used further."""
    data: tuple[tuple[str, object], ...] = ()


def _gone(job: Job, present: Mapping[WorkerId, WorkerSeen], sight: Sight) -> Mapping[Member, _Gone]:
    found: dict[Member, _Gone] = {}
    for rank, (member, worker) in enumerate(zip(job.members, member_ids(job), strict=True)):
        gone = _place_gone(member, sight) or _worker_gone(rank, present.get(worker))
        if gone is not None:
            found[member] = gone
    return found


def _place_gone(member: Member, sight: Sight) -> _Gone | None:
    name, node = member.node, sight.nodes.get(member.node)
    if node is None:
        return _Gone("node_removed", f"node {name} was removed", name)
    if name in sight.lost:
        return _Gone(LOST, f"node {name} is lost", name, lost=True)
    if node.state is NodeState.DRAINING:
        return _Gone("node_draining", f"node {name} is being drained", name)
    if member.slot >= len(node.slots):
        return _Gone("slots_gone", f"node {name} came back with fewer slots", name)
    return None


def _worker_gone(rank: int, worker: WorkerSeen | None) -> _Gone | None:
    """A member that was killed or vanished, by no fault of its program."""
    if worker is None or worker.state is not WorkerState.EXITED or _failed(worker) or done(worker, None):
        return None
    what = f"worker {rank} on {worker.node} {_how(worker)}"
    told = (("worker", str(worker.id)), ("rank", rank), ("exit_code", worker.exit_code))
    return _Gone(LOST, what, worker.node, lost=True, replaced=True, data=told)


def _how(worker: WorkerSeen) -> str:
    code = worker.exit_code
    if worker.reason in (None, ExitReason.ENDED) and code is not None and code > _SIGNALS:
        return f"was killed by signal {code - _SIGNALS}"
    reason = "no reason known" if worker.reason is None else worker.reason.value
    return f"is gone ({reason})"


def _go_on(change: Change, gone: Mapping[Member, _Gone], sight: Sight, scheduling: Scheduling) -> Change:
    """Go on with those who are left, if they are enough."""
    job = change.job
    first = next(iter(gone.values()))
    if any(one.lost for one in gone.values()):
        first = next(one for one in gone.values() if one.lost)
        change = _told_losses(count_loss(change, _step(job, sight)), gone)
        if (ended := too_often(change, first.what)) is not None:
            return ended
    staying = tuple(member for member in job.members if member not in gone)
    slots = slots_of([*staying, *(member for member, one in gone.items() if one.replaced)])
    left = sum(map(len, slots.values()))
    if not _anybody_lives(job, staying, sight) or left < job.spec.min_workers:
        what = first.what if first.lost else f"{first.what}; too few would be left"
        return requeue(change, first.why, f"{what}; it is started again")
    speed = job.progress.speed if left == job.workers else speed_at(job, left)
    place = Place(slots, speed, change.at + scheduling.rescale_cost, staying, beside=bool(job.seats))
    change = begin(change, place, sight.nodes, sight.seen)
    change = change.move(P.RESCALING, first.why, f"{first.what}; goes on with {counted(len(staying))}")
    return change if slots == job.places else _told_size(change, job, first)


def _told_losses(change: Change, gone: Mapping[Member, _Gone]) -> Change:
    """One event for each worker that was killed, and one for each node that was lost."""
    for one in dict.fromkeys(one for one in gone.values() if one.lost):
        change = tell_loss(change, one.what, one.node, **dict(one.data))
    return change


def _told_size(change: Change, before: Job, gone: _Gone) -> Change:
    job = change.job
    data = {"workers": job.workers, "generation": job.generation, "why": gone.why}
    return change.tell(
        "scaled",
        before=allocation(before.places),
        after=allocation(job.places),
        reason=gone.what,
        data={**data, "beside": True} if job.seats else data,
    )


def _step(job: Job, sight: Sight) -> float | None:
    """How far the job was last told to be."""
    told = [worker.step for worker in sight.of(job.id)] + [job.progress.step]
    return max((step for step in told if step is not None), default=None)


def _anybody_lives(job: Job, staying: tuple[Member, ...], sight: Sight) -> bool:
    """Whether one of those who stay is there, or is still to come."""
    shown = sight.present(job)
    ids = dict(zip(job.members, member_ids(job), strict=True))
    workers = (shown.get(ids[member]) for member in staying)
    return any(worker is None or worker.state is not WorkerState.EXITED for worker in workers)
