"""What is logged at an event: the cluster's efficiency, GPUs and jobs, and each job's changes."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.state import Queue, Rows, Rules


@compiled
def survey(rules: Rules, rows: Rows, queue: Queue) -> tuple[float, int, int, int]:
    """Note what changed for each job. Return the efficiency, busy GPUs, running and waiting jobs."""
    busy, running, speed = 0, 0, 0.0
    for job in queue.jobs[: queue.size[0]]:
        row = rows[job]
        _note_change(rows, job)
        if row.gpus > 0:
            busy += row.gpus
            running += 1
            speed += row.rate[level_fitting(row.gpus)] / row.rate[0]
    return speed / rules.total, busy, running, int(queue.size[0]) - running


@compiled
def _note_change(rows: Rows, job: int) -> None:
    row = rows[job]
    if row.gpus != row.held or (row.gpus > 0 and row.rank != row.held_rank):
        row.changes += 1
    if row.gpus > 0:
        row.last_size = row.gpus
        row.held_rank = row.rank
    elif row.held > 0:
        row.preempted += 1
    row.held = row.gpus
