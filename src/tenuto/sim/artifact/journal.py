"""What is logged at each event: the layout, the cluster's efficiency, and each job's changes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.ranks import Groups
from tenuto.sim.artifact.state import RUNNING, Books, Clock, Jobs, Live, Queue, Rules


class Journal(NamedTuple):
    """Rows of some events, and the pieces of their layouts. It is emptied when full."""

    time: Floats
    efficiency: Floats
    busy: Ints
    running: Ints
    waiting: Ints
    placed: Ints
    """For each event the number of pieces that belong to it."""
    job: Ints
    rank: Ints
    gpus: Ints
    """Pieces of layouts: a job, a node's first GPU of it, and how many follow."""
    size: Ints
    """Two numbers: events, pieces."""


def journal_for(events: int, total: int, *, layouts: bool) -> Journal:
    """Make room for so many events; without layouts no pieces are kept."""
    floats = [np.zeros(events) for _ in range(2)]
    ints = [np.zeros(events, dtype=np.int64) for _ in range(4)]
    rows = [np.zeros(events * total if layouts else 0, dtype=np.int64) for _ in range(3)]
    return Journal(*floats, *ints, *rows, size=np.zeros(2, dtype=np.int64))


@compiled
def log_event(
    rules: Rules,
    jobs: Jobs,
    live: Live,
    books: Books,
    queue: Queue,
    clock: Clock,
    groups: Groups,
    journal: Journal,
) -> None:
    """Write one event's row."""
    row = journal.size[0]
    busy, running, waiting, speed = 0, 0, 0, 0.0
    for job in queue.jobs[: queue.size[0]]:
        _note_change(live, books, job)
        gpus = live.gpus[job]
        if live.phase[job] == RUNNING and gpus > 0:
            busy += gpus
            running += 1
            speed += jobs.rate[job, level_fitting(gpus)] / jobs.rate[job, 0]
        else:
            waiting += 1
    journal.time[row] = clock.now[0]
    journal.efficiency[row] = speed / rules.total
    journal.busy[row] = busy
    journal.running[row] = running
    journal.waiting[row] = waiting
    journal.placed[row] = _log_layout(live, queue, groups, rules.per_node, journal)
    journal.size[0] = row + 1


@compiled
def _note_change(live: Live, books: Books, job: int) -> None:
    gpus, rank = live.gpus[job], live.rank[job]
    held = books.held[job]
    if gpus != held or (gpus > 0 and rank != books.held_rank[job]):
        books.changes[job] += 1
    if gpus > 0:
        books.last_size[job] = gpus
        books.held_rank[job] = rank
    elif held > 0:
        books.preempted[job] += 1
    books.held[job] = gpus


@compiled
def _log_layout(live: Live, queue: Queue, groups: Groups, per_node: int, journal: Journal) -> int:
    if len(journal.job) == 0:
        return 0
    first = journal.size[1]
    piece = first
    for job in queue.jobs[: queue.size[0]]:
        cell, end = live.cell[job], live.cell[job] + live.gpus[job]
        while cell < end:
            count = min(end - cell, per_node - cell % per_node)
            journal.job[piece] = job
            journal.rank[piece] = groups.node_order[cell // per_node] * per_node + cell % per_node
            journal.gpus[piece] = count
            cell += count
            piece += 1
    journal.size[1] = piece
    return int(piece - first)
