"""What a job's workers and their places do to it: it runs, it is done, it failed, it lost some. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from tenuto.live.change import Change, counted
from tenuto.live.generation import Place, begin
from tenuto.live.sight import Sight
from tenuto.model.job import Ending, Job
from tenuto.model.node import NodeState
from tenuto.model.phase import PLACED, Phase
from tenuto.wire.worker import WORKER, ExitReason, WorkerSeen, WorkerState

P = Phase
LOSSES = frozenset({ExitReason.VANISHED, ExitReason.STOPPED, ExitReason.DEAD_MAN})
"""Reasons for which a wanted worker may be gone without its job's fault."""
SLOTS_TAKEN = frozenset({"workers_lost", "node_removed", "node_draining", "slots_gone"})
"""Why a job may wait for slots although nobody else was given its own."""
LONGEST_BACKOFF = 60.0
REPORTS_EVERY = 5.0
"""Seconds between two anchors in the store that differ only in the step that was reported."""
MAX_REPORTED = 1e15
"""Steps and totals beyond it, or below 0, are not believed; a submission is held to the same limit."""


def look_at_workers(change: Change, sight: Sight, start_cost: float) -> Change:
    """Follow what the workers of the present generation do."""
    job = change.job
    if may_finish(job) and sight.finished(job):
        return succeeded(change, sight)
    if job.phase not in PLACED or job.ending is not None:
        return change
    present = list(sight.present(job).values())
    gone = [worker for worker in present if worker.state is WorkerState.EXITED and worker.exit_code != 0]
    lost = [worker for worker in present if worker.reason in LOSSES]
    if lost:
        return lose(change, f"worker {lost[0].id.rank} on {lost[0].node} is gone ({_reason(lost[0])})", lost)
    if gone:
        first = min(gone, key=lambda worker: (worker.ended_at or 0.0, worker.id))
        return fail(change, first, sight, start_cost) if is_to_blame(change, first, sight) else change
    change = believe(change, present)
    if job.phase is not P.RUNNING and _all_run(job, present, sight):
        return runs(change)
    return change


def may_finish(job: Job) -> bool:
    """Whether the end of all its workers would be the job's success."""
    pausing = job.ending is not None and job.ending.phase is P.PAUSED
    on_its_way = job.phase in PLACED or job.phase is P.QUEUED
    return on_its_way and (job.ending is None or pausing)


def look_at_places(change: Change, sight: Sight) -> Change:
    """Take a job off nodes that it cannot use any more."""
    job = change.job
    if job.phase not in PLACED or job.ending is not None or sight.finished(job):
        return change
    for name, slots in sorted(job.places.items()):
        node = sight.nodes.get(name)
        if name in sight.lost and node is not None:
            return lose(change, f"node {name} is lost", ())
        if node is None:
            return requeue(change, "node_removed", f"node {name} was removed")
        if node.state is NodeState.DRAINING:
            return requeue(change, "node_draining", f"node {name} is being drained")
        if not job.spec.cpu_only and max(slots, default=-1) >= len(node.slots):
            return requeue(change, "slots_gone", f"node {name} came back with fewer slots")
    return change


def requeue(change: Change, why: str, message: str) -> Change:
    """Give the places back and wait for others."""
    return change.release().move(P.QUEUED, why, message)


def lose(change: Change, what: str, workers: Sequence[WorkerSeen]) -> Change:
    """Start again elsewhere, if that is still allowed."""
    change = count_loss(change, change.job.progress.step)
    node = workers[0].node if workers else ""
    change = tell_loss(change, what, node)
    return too_often(change, what) or requeue(change, "workers_lost", f"{what}; it is started again")


def count_loss(change: Change, step: float | None) -> Change:
    """Count a loss; `step` is how far the job was told to be."""
    job = change.job
    progress = step is not None and (job.lost_at is None or step > job.lost_at)
    return change.put(
        losses=job.losses + 1,
        lost_in_a_row=1 if progress else job.lost_in_a_row + 1,
        lost_at=step if progress else job.lost_at,
    )


def tell_loss(change: Change, what: str, node: str, **data: object) -> Change:
    """Add the event of a loss that was counted."""
    counted_so_far = {"losses": change.job.losses, **data}
    return change.tell("worker", node=node, before="running", after="lost", reason=what, data=counted_so_far)


def too_often(change: Change, what: str) -> Change | None:
    """The end of a job that has lost workers too often without progress; None if it may go on."""
    most = change.job.spec.retry.losses
    if change.job.lost_in_a_row <= most:
        return None
    message = f"{what}; it may be started again {most} times after such a loss, and was"
    return change.end(Ending(phase=P.LOST, why="workers_lost", message=message))


def is_to_blame(change: Change, worker: WorkerSeen, sight: Sight) -> bool:
    """Whether every node of the job has been heard of since a worker failed.

    As long as one has not, it may be the loss of that node that made the others fail.
    """
    seen = sight.seen.nodes
    # By the clock of its own node, which may be fast: whoever told us of it did so afterwards.
    failed_at = min(
        change.at if worker.ended_at is None else worker.ended_at,
        seen[worker.node].heard_at if worker.node in seen else change.at,
    )
    return all(name in seen and seen[name].heard_at >= failed_at for name in change.job.places)


def fail(change: Change, worker: WorkerSeen, sight: Sight, start_cost: float) -> Change:
    """Start again in the same place after a while, if that is still allowed."""
    job = change.job
    what = f"{_called(worker)} on {worker.node} {_how(worker)}"
    why = "out_of_memory" if worker.reason is ExitReason.OUT_OF_MEMORY else "worker_failed"
    failures = job.failures + 1
    change = change.put(failures=failures).tell(
        "worker",
        node=worker.node,
        before="running",
        after="failed",
        reason=what,
        data={"exit_code": worker.exit_code, "rank": worker.id.rank, "failures": failures},
    )
    if failures > job.spec.retry.failures:
        return change.end(Ending(phase=P.FAILED, why=why, message=what, exit_code=worker.exit_code))
    pause = min(2.0 ** (failures - 1), LONGEST_BACKOFF)
    begins = change.at + pause
    place = Place(job.places, job.progress.speed, begins + start_cost, beside=bool(job.seats))
    change = begin(change, place, sight.nodes, sight.seen).put(not_before=begins)
    return change.move(P.STARTING, why, f"{what}; it is started again in {pause:g} s")


def succeeded(change: Change, sight: Sight) -> Change:
    """The job is done, since its last worker ended."""
    change = believe(change, sight.present(change.job).values(), at_once=True)
    ends = [
        worker.ended_at
        for worker in sight.of(change.job.id)
        if worker.ended_at is not None and worker.id.role == WORKER
    ]
    done = min(max(ends, default=change.at), change.at)
    change = replace(change, left=0.0).put(ended_at=done)
    return change.end(Ending(phase=P.SUCCEEDED, why="done", message="all workers ended with 0", exit_code=0))


def _all_run(job: Job, present: Iterable[WorkerSeen], sight: Sight) -> bool:
    """Whether every process of the present generation has come up."""
    up = {worker.id for worker in present if worker.state in (WorkerState.RUNNING, WorkerState.EXITED)}
    expected = sight.expected(job)
    return bool(expected) and len(up) == len(expected)


def runs(change: Change) -> Change:
    """All its workers are there."""
    if change.job.started_at is None:
        change = change.put(started_at=change.at)
    return change.move(P.RUNNING, "running", f"runs on {counted(change.job.workers)}")


def believe(change: Change, present: Collection[WorkerSeen], *, at_once: bool = False) -> Change:
    """Take a reported step for true; it is stored now and then, and whenever the job's record changes anyway."""
    change = _learn_total(change, present)
    job, progress = change.job, change.job.progress
    total = job.total
    # A job counted in epochs says `{"step": 12, "epoch": 0.5}`.
    told = [worker.data.get("epoch") if job.spec.epochs else worker.step for worker in present]
    step = max((one for one in told if one is not None and 0.0 <= one <= MAX_REPORTED), default=None)
    if step is None or not total or step == progress.step:
        return change
    if change.at - progress.as_of < REPORTS_EVERY and progress.step is not None and not at_once:
        return change
    return change.believe(step, max(total - step, 0.0))


def _learn_total(change: Change, present: Collection[WorkerSeen]) -> Change:
    """A job that was given no total may tell it with its steps: `{"step": 12, "total": 1000}`."""
    spec = change.job.spec
    if spec.steps is not None or spec.epochs is not None:
        return change
    totals = [
        worker.data["total"] for worker in present if 0.0 < worker.data.get("total", 0.0) <= MAX_REPORTED
    ]
    if not totals or max(totals) == change.job.reported_total:
        return change
    return change.put(reported_total=max(totals))


def _called(worker: WorkerSeen) -> str:
    return f"{worker.id.role} {worker.id.rank}"


def _reason(worker: WorkerSeen) -> str:
    return "no reason known" if worker.reason is None else worker.reason.value


def _how(worker: WorkerSeen) -> str:
    told = f": {worker.message}" if worker.message else ""
    match worker.reason:
        case ExitReason.OUT_OF_MEMORY:
            return f"used more memory than its limit and was killed{told}"
        case ExitReason.NOT_STARTED:
            return f"could not be started{told}"
        case ExitReason.SETUP_FAILED:
            return f"was not started because the setup failed{told}"
    return f"ended with exit code {worker.exit_code}{told}"
