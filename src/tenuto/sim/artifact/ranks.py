"""Placement: at every event all jobs are packed afresh, and where a job begins decides what it pays.

Nodes are taken in groups from the front of a list of free nodes. A group with a hole stands in the list of
the hole's class; each list is sorted by the GPUs in use, except that a group that was tried in vain moves to
the list's end. Nodes of different switches share numbers, and the free nodes are sorted by number only: which
of two namesakes comes first depends on which was released first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Ints
from tenuto.sim.artifact.state import Queue, Rows, Rules

_CLASSES = np.array([1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 88, 128, 256], dtype=np.int64)


GROUP = np.dtype(
    [
        ("first", np.int64),  # first cell, nodes counted in the order in which they are filled
        ("capacity", np.int64),
        ("used", np.int64),
        ("members", np.int64),  # jobs that were not released yet
    ]
)
NODE = np.dtype(
    [
        ("place", np.int64),  # in the cluster; all other columns are in the order in which nodes are filled
        ("group", np.int64),
        ("released", np.int64),  # places in the cluster, in the order of their release
        ("number", np.int64),  # of the node with this place in the cluster, under its switch
    ]
)


class Groups(NamedTuple):
    """Nodes and the groups that jobs share."""

    table: NDArray[np.void]
    """Groups, of type GROUP."""
    nodes: NDArray[np.void]
    """Nodes, of type NODE."""
    lists: Ints
    """For each class a row of groups."""
    length: Ints
    """For each class how many."""
    counts: Ints
    """Three numbers: groups made, nodes taken, nodes released."""


MADE, TAKEN, RELEASED = range(3)


def groups_of(cluster: Cluster) -> Groups:
    """Take all nodes for free, in the order of the cluster at first."""
    count = len(cluster.slots)
    nodes = np.zeros(count, dtype=NODE)
    nodes["place"] = np.arange(count)
    nodes["number"] = np.concatenate([np.arange(size) for size in np.bincount(cluster.switch)])
    return Groups(
        np.zeros(count, dtype=GROUP),
        nodes,
        lists=np.zeros((len(_CLASSES), count), dtype=np.int64),
        length=np.zeros(len(_CLASSES), dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


@compiled
def release_jobs(rules: Rules, rows: Rows, queue: Queue, groups: Groups, reach: float) -> None:
    """Release all jobs: those that end now, then the others in the order of the queue."""
    for ending in (True, False):
        for job in queue.jobs[: queue.size[0]]:
            if rows[job].gpus > 0 and (rows[job].event <= reach) == ending:
                _release(groups, rules.per_node, rows[job].cell)
    _collect_nodes(groups)


@compiled
def place_by_size(rules: Rules, rows: Rows, order: Queue, groups: Groups) -> None:
    """Place jobs that hold GPUs: those of a node or more in the list's order, then the smaller by size."""
    for job in order.jobs[: order.size[0]]:
        if rows[job].gpus >= rules.per_node:
            _place_job(rules, rows, job, groups)
    size = rules.per_node // 2
    while size > 0:
        for job in order.jobs[: order.size[0]]:
            if rows[job].gpus == size:
                _place_job(rules, rows, job, groups)
        size //= 2


@compiled
def place_in_order(rules: Rules, rows: Rows, order: Queue, groups: Groups) -> int:
    """Place jobs that hold GPUs in the list's order. Return the first that finds no room, -1 if all do."""
    for job in order.jobs[: order.size[0]]:
        if rows[job].gpus > 0:
            _place_job(rules, rows, job, groups)
            if rows[job].cell < 0:
                return int(job)
    return -1


@compiled
def write_layout(rules: Rules, rows: Rows, queue: Queue, groups: Groups, layout: Ints) -> None:
    """Write each placed job on its GPUs."""
    for job in queue.jobs[: queue.size[0]]:
        if rows[job].gpus > 0:
            for cell in range(rows[job].cell, rows[job].cell + rows[job].gpus):
                node = groups.nodes[cell // rules.per_node].place
                layout[node * rules.per_node + cell % rules.per_node] = job


@compiled
def _release(groups: Groups, per_node: int, cell: int) -> None:
    """Release one job; the last one of a group gives the group's nodes back."""
    group = groups.table[groups.nodes[cell // per_node].group]
    group.members -= 1
    if group.members > 0:
        return
    first = group.first // per_node
    for node in range(first, first + group.capacity // per_node):
        groups.nodes[groups.counts[RELEASED]].released = groups.nodes[node].place
        groups.counts[RELEASED] += 1


@compiled
def _collect_nodes(groups: Groups) -> None:
    """Sort the free nodes by number; of namesakes the untouched ones come first, then as released."""
    nodes = groups.nodes
    total, taken = len(nodes), groups.counts[TAKEN]
    if taken > 0:
        free = np.zeros(total, np.int64)
        behind = np.zeros(total + 1, np.int64)
        for index in range(total):
            behind[nodes[index].number + 1] += 1
            if index < taken:
                free[total - taken + index] = nodes[index].released
            else:
                free[index - taken] = nodes[index].place
        for number in range(total):
            behind[number + 1] += behind[number]
        for place in free:
            nodes[behind[nodes[place].number]].place = place
            behind[nodes[place].number] += 1
    groups.length[:] = 0
    groups.counts[:] = 0


@compiled
def _place_job(rules: Rules, rows: Rows, job: int, groups: Groups) -> None:
    row = rows[job]
    row.cell = _place(groups, rules.per_node, row.gpus)
    if row.cell >= 0:
        row.rank = _first_rank(groups, rules.per_node, row.cell, row.gpus)


@compiled
def _first_rank(groups: Groups, per_node: int, cell: int, gpus: int) -> int:
    """Tell the first GPU of a job, nodes counted in the order of the cluster."""
    first = cell // per_node
    lowest = groups.nodes[first].place
    for node in range(first + 1, (cell + gpus - 1) // per_node + 1):
        lowest = min(lowest, groups.nodes[node].place)
    return int(lowest * per_node + cell % per_node)


@compiled
def _place(groups: Groups, per_node: int, gpus: int) -> int:
    """Find room for a job. Return its first cell in the order of filling; -1 if there is none."""
    own = _class_of(gpus)
    if groups.length[own] > 0:
        cell = _try_first(groups, own, own, gpus)
        if cell >= 0:
            return cell
    for other in range(len(_CLASSES) - 1, own, -1):
        if groups.length[other] > 0:
            cell = _try_first(groups, other, own, gpus)
            if cell >= 0:
                return cell
    return _fresh(groups, own, per_node, gpus)


@compiled
def _class_of(hole: int) -> int:
    for index in range(len(_CLASSES) - 1, -1, -1):
        if _CLASSES[index] <= hole and hole % _CLASSES[index] == 0:
            return index
    return 0


@compiled
def _try_first(groups: Groups, index: int, own: int, gpus: int) -> int:
    """Put the job into the first group of a list, or move that group to the list's end."""
    number = _popped(groups, index)
    group = groups.table[number]
    if group.used + gpus > group.capacity:
        groups.lists[index, groups.length[index]] = number
        groups.length[index] += 1
        return -1
    cell = group.first + group.used
    group.used += gpus
    group.members += 1
    hole = group.capacity - group.used
    _insert(groups, _class_of(hole) if hole > 0 else own, number)
    return int(cell)


@compiled
def _popped(groups: Groups, index: int) -> int:
    row = groups.lists[index]
    number = int(row[0])
    groups.length[index] -= 1
    for place in range(groups.length[index]):
        row[place] = row[place + 1]
    return number


@compiled
def _insert(groups: Groups, index: int, number: int) -> None:
    """Append a group to a list and sort the list by GPUs in use; ties keep their order."""
    row = groups.lists[index]
    row[groups.length[index]] = number
    groups.length[index] += 1
    for place in range(1, groups.length[index]):
        moving = row[place]
        to = place
        while to > 0 and groups.table[row[to - 1]].used > groups.table[moving].used:
            row[to] = row[to - 1]
            to -= 1
        row[to] = moving


@compiled
def _fresh(groups: Groups, own: int, per_node: int, gpus: int) -> int:
    """Make a group of the next free nodes."""
    wanted = (gpus + per_node - 1) // per_node
    number, taken = groups.counts[MADE], groups.counts[TAKEN]
    if taken + wanted > len(groups.nodes):
        return -1
    group = groups.table[number]
    group.first = taken * per_node
    group.capacity = wanted * per_node
    group.used = gpus
    group.members = 1
    for node in range(taken, taken + wanted):
        groups.nodes[node].group = number
    groups.counts[MADE] += 1
    groups.counts[TAKEN] += wanted
    hole = group.capacity - gpus
    _insert(groups, _class_of(hole) if hole > 0 else own, number)
    return int(group.first)
