"""Left-over GPUs: handed out level by level to the job whose GPU seconds grow *most* per added GPU (Q1)."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.elastic_plan import Desk
from tenuto.sim.artifact.growth import grow, increase, priority, set_target
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.plans import Plans
from tenuto.sim.artifact.queues import sort_by_key
from tenuto.sim.artifact.state import Queue, Roster, Rows, Rules


@compiled
def spend_left_over(rules: Rules, rows: Rows, roster: Roster, desk: Desk, plans: Plans, now: float) -> Plans:
    """Grow jobs while GPUs are free. The queue is left in the order of the last sort."""
    queue = roster.queue
    free = rules.total
    for job in queue.jobs[: queue.size[0]]:
        free -= rows[job].gpus
        set_target(rows, job)
    if free == 0:
        return plans
    for job in queue.jobs[: queue.size[0]]:
        rows[job].key = priority(rules, rows, job, free, desk, plans, now)
    sort_by_key(queue, rows, roster.spare)
    while free > 0:
        chosen = _first_that_fits(rows, queue, free)
        if chosen >= 0:
            free -= increase(rows, chosen)
            plans = grow(rules, rows, roster, chosen, desk, plans, now)
        for job in queue.jobs[: queue.size[0]]:
            if rows[job].target > level_fitting(rows[job].gpus):
                rows[job].key = priority(rules, rows, job, free, desk, plans, now)
        sort_by_key(queue, rows, roster.spare)
        if chosen < 0:
            break
    return plans


@compiled
def _first_that_fits(rows: Rows, queue: Queue, free: int) -> int:
    for job in queue.jobs[: queue.size[0]]:
        if 0 < increase(rows, job) <= free:
            return int(job)
    return -1
