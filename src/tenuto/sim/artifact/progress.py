"""What happened since the previous event: work done, jobs ended. And what comes after it: jobs started."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.queues import append, keep_phases
from tenuto.sim.artifact.state import ENDED, PENDING, RUNNING, Queue, Roster, Rows


@compiled
def work_off(rows: Rows, queue: Queue, now: float, elapsed: float, by_real_end: bool) -> None:
    """Subtract what each job has done. One that is done before its end event ends at the present one."""
    for job in queue.jobs[: queue.size[0]]:
        row = rows[job]
        if row.gpus == 0:
            continue
        rate = row.rate[level_fitting(row.gpus)]
        stop = row.real_end if by_real_end else row.end
        seconds = elapsed - max(now - stop, 0.0)
        seconds = 0.0 if seconds < row.overhead else seconds - row.overhead
        work = seconds * rate
        if row.left <= work and row.end > now:
            work = (row.end - now + elapsed) * rate
            row.end = now - elapsed + np.ceil(row.left / rate)
            row.event = now
        row.left -= work
        row.overhead = 0.0


@compiled
def end_jobs(rows: Rows, queue: Queue, reach: float, by_real_end: bool, only_holding: bool) -> int:
    """End and count the jobs whose event is due. ElasticFlow ignores one that holds no GPU then (Q21)."""
    ended = 0
    for job in queue.jobs[: queue.size[0]]:
        row = rows[job]
        if row.event > reach:
            continue
        row.event = np.inf
        if only_holding and row.gpus == 0:
            continue
        row.phase = ENDED
        row.finished = row.end
        judged = row.real_end if by_real_end else row.end
        row.met = judged <= row.deadline and not row.best_effort
        ended += 1
    keep_phases(queue, rows, PENDING, RUNNING)
    return ended


@compiled
def start(rows: Rows, roster: Roster, job: int, now: float) -> None:
    """Let a waiting job run."""
    rows[job].phase = RUNNING
    rows[job].started = now
    append(roster.running, job)
