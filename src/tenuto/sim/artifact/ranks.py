"""Placement: at every event all jobs are packed afresh, and where a job begins decides whether its group is cached.

Nodes are taken in groups from the front of a list of free nodes. A group with a hole stands in the list of the hole's
class; each list is sorted by the GPUs in use, except that a group that was tried in vain moves to the list's end.
Nodes of different switches share numbers, and the free nodes are sorted by number only: which of two namesakes comes
first depends on which was released first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Ints

_CLASSES = np.array([1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 88, 128, 256], dtype=np.int64)


class Groups(NamedTuple):
    """Groups of nodes; group g holds the nodes from `first[g]` on, counted in the order of filling."""

    first: Ints
    capacity: Ints
    used: Ints
    members: Ints
    """Jobs in each group that were not released yet."""
    lists: Ints
    """For each class a row of groups."""
    length: Ints
    made: Ints
    """Three numbers: groups made, nodes taken, nodes released."""
    owner: Ints
    """For each node in the order of filling its group."""
    node_order: Ints
    """For each node in the order of filling its place in the cluster."""
    released: Ints
    """Nodes in the order of their release, as places in the cluster."""
    number: Ints
    """For each node of the cluster its number under its switch."""


def groups_of(cluster: Cluster) -> Groups:
    """Make room for groups. Nodes are filled in the order of the cluster at first."""
    nodes = len(cluster.slots)
    columns = [np.zeros(nodes, dtype=np.int64) for _ in range(4)]
    return Groups(
        *columns,
        lists=np.zeros((len(_CLASSES), nodes), dtype=np.int64),
        length=np.zeros(len(_CLASSES), dtype=np.int64),
        made=np.zeros(3, dtype=np.int64),
        owner=np.zeros(nodes, dtype=np.int64),
        node_order=np.arange(nodes, dtype=np.int64),
        released=np.zeros(nodes, dtype=np.int64),
        number=np.concatenate([np.arange(count) for count in np.bincount(cluster.switch)]).astype(np.int64),
    )


@compiled
def release(groups: Groups, per_node: int, cell: int) -> None:
    """Release one job; the last one of a group gives the group's nodes back."""
    group = groups.owner[cell // per_node]
    groups.members[group] -= 1
    if groups.members[group] > 0:
        return
    first = groups.first[group] // per_node
    for node in range(first, first + groups.capacity[group] // per_node):
        groups.released[groups.made[2]] = groups.node_order[node]
        groups.made[2] += 1


@compiled
def clear_groups(groups: Groups) -> None:
    """Begin to place afresh, when all jobs were released: free nodes in the order of their numbers."""
    nodes = len(groups.node_order)
    taken = groups.made[1]
    if taken > 0:
        for node in range(taken, nodes):
            groups.released[groups.made[2]] = groups.node_order[node]
            groups.made[2] += 1
        _sort_by_number(groups, nodes - taken)
    groups.length[:] = 0
    groups.made[:] = 0


@compiled
def _sort_by_number(groups: Groups, untouched: int) -> None:
    """Order nodes by number; among namesakes those that were never taken come first, then the released ones."""
    nodes = len(groups.node_order)
    behind = np.zeros(nodes + 1, np.int64)
    for node in range(nodes):
        behind[groups.number[node] + 1] += 1
    for number in range(nodes):
        behind[number + 1] += behind[number]
    for index in range(nodes):
        node = groups.released[(index + nodes - untouched) % nodes]
        groups.node_order[behind[groups.number[node]]] = node
        behind[groups.number[node]] += 1


@compiled
def place(groups: Groups, per_node: int, gpus: int) -> int:
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
def first_rank(groups: Groups, per_node: int, cell: int, gpus: int) -> int:
    """Tell the first GPU of a job, nodes counted in the order of the cluster."""
    first = cell // per_node
    lowest = groups.node_order[first]
    for node in range(first + 1, (cell + gpus - 1) // per_node + 1):
        lowest = min(lowest, groups.node_order[node])
    return int(lowest * per_node + cell % per_node)


@compiled
def _class_of(hole: int) -> int:
    for index in range(len(_CLASSES) - 1, -1, -1):
        if _CLASSES[index] <= hole and hole % _CLASSES[index] == 0:
            return index
    return 0


@compiled
def _try_first(groups: Groups, index: int, own: int, gpus: int) -> int:
    """Put the job into the first group of a list, or move that group to the list's end."""
    group = _popped(groups, index)
    used = groups.used[group]
    if used + gpus > groups.capacity[group]:
        groups.lists[index, groups.length[index]] = group
        groups.length[index] += 1
        return -1
    groups.used[group] = used + gpus
    groups.members[group] += 1
    hole = groups.capacity[group] - used - gpus
    _insert(groups, _class_of(hole) if hole > 0 else own, group)
    return int(groups.first[group] + used)


@compiled
def _popped(groups: Groups, index: int) -> int:
    row = groups.lists[index]
    group = int(row[0])
    groups.length[index] -= 1
    for place_in_row in range(groups.length[index]):
        row[place_in_row] = row[place_in_row + 1]
    return group


@compiled
def _insert(groups: Groups, index: int, group: int) -> None:
    """Append a group to a list and sort the list by GPUs in use; ties keep their order."""
    row = groups.lists[index]
    row[groups.length[index]] = group
    groups.length[index] += 1
    for place_in_row in range(1, groups.length[index]):
        moving = row[place_in_row]
        to = place_in_row
        while to > 0 and groups.used[row[to - 1]] > groups.used[moving]:
            row[to] = row[to - 1]
            to -= 1
        row[to] = moving


@compiled
def _fresh(groups: Groups, own: int, per_node: int, gpus: int) -> int:
    wanted = (gpus + per_node - 1) // per_node
    group, taken = groups.made[0], groups.made[1]
    if taken + wanted > len(groups.node_order):
        return -1
    groups.first[group] = taken * per_node
    groups.capacity[group] = wanted * per_node
    groups.used[group] = gpus
    groups.members[group] = 1
    groups.owner[taken : taken + wanted] = group
    groups.made[0] = group + 1
    groups.made[1] = taken + wanted
    hole = groups.capacity[group] - gpus
    _insert(groups, _class_of(hole) if hole > 0 else own, group)
    return int(groups.first[group])
