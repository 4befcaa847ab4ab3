"""What happened since the previous event: work done, jobs ended."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.queues import keep_phases
from tenuto.sim.artifact.state import ENDED, PENDING, RUNNING, Books, Clock, Jobs, Live, Queue


@compiled
def work_off(jobs: Jobs, live: Live, queue: Queue, clock: Clock, by_real_end: bool) -> None:
    """Subtract what each job has done. One that is done before its end event ends at the present one."""
    now, elapsed = clock.now[0], clock.elapsed[0]
    for job in queue.jobs[: queue.size[0]]:
        if live.gpus[job] == 0:
            continue
        rate = jobs.rate[job, level_fitting(live.gpus[job])]
        stop = live.real_end[job] if by_real_end else live.end[job]
        seconds = elapsed - max(now - stop, 0.0)
        seconds = 0.0 if seconds < live.overhead[job] else seconds - live.overhead[job]
        work = seconds * rate
        if live.left[job] <= work and live.end[job] > now:
            work = (live.end[job] - now + elapsed) * rate
            live.end[job] = now - elapsed + np.ceil(live.left[job] / rate)
            live.event[job] = now
        live.left[job] -= work
        live.overhead[job] = 0.0


@compiled
def end_jobs(
    jobs: Jobs, live: Live, books: Books, queue: Queue, clock: Clock, by_real_end: bool, only_holding: bool
) -> None:
    """End every job whose event is due. ElasticFlow ignores the event of a job that holds no GPU (Q21)."""
    reach = clock.reach[0]
    for job in queue.jobs[: queue.size[0]]:
        if live.event[job] > reach:
            continue
        live.event[job] = np.inf
        if only_holding and live.gpus[job] == 0:
            continue
        live.phase[job] = ENDED
        live.gpus[job] = 0
        books.finished[job] = live.end[job]
        judged = live.real_end[job] if by_real_end else live.end[job]
        books.met[job] = judged <= jobs.deadline[job] and not jobs.best_effort[job]
        clock.done[0] += 1
    keep_phases(queue, live.phase, PENDING, RUNNING)
