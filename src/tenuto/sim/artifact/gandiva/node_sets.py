"""Node sets: made from idle nodes and given back, filled with jobs, kept in order of use."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.gandiva.state import NONE, Floor


@compiled
def new_set(floor: Floor, kind: int) -> int:
    """Make an empty set of the first idle nodes, at the end of its list. Return NONE if too few are idle."""
    row, tally = floor.kinds[kind], floor.tally[0]
    if row.nodes > tally.idle:
        return NONE
    number = int(tally.first_idle)
    last = number
    for _ in range(row.nodes - 1):
        last = floor.next_node[last]
    tally.first_idle = floor.next_node[last]
    tally.idle -= row.nodes
    floor.next_node[last] = NONE
    made = floor.sets[number]
    made.last_node = last
    made.first_job = NONE
    made.last_job = NONE
    made.jobs = 0
    made.used = 0
    floor.lists[kind, row.sets] = number
    row.sets += 1
    return number


@compiled
def give_back(floor: Floor, kind: int, number: int) -> None:
    """Put the nodes of a set behind all idle ones. Taking the set off its list is up to the caller."""
    tally = floor.tally[0]
    if tally.idle == 0:
        tally.first_idle = number
    else:
        floor.next_node[tally.last_idle] = number
    tally.last_idle = floor.sets[number].last_node
    tally.idle += floor.kinds[kind].nodes


@compiled
def first_to_the_end(floor: Floor, kind: int) -> int:
    """Move the first set of a list to its end and return it."""
    count = floor.kinds[kind].sets
    row = floor.lists[kind]
    first = int(row[0])
    for place in range(1, count):
        row[place - 1] = row[place]
    row[count - 1] = first
    return first


@compiled
def drop_first(floor: Floor, kind: int, count: int) -> None:
    """Take the first sets off a list."""
    row = floor.lists[kind]
    for place in range(count, floor.kinds[kind].sets):
        row[place - count] = row[place]
    floor.kinds[kind].sets -= count


@compiled
def sort_sets(floor: Floor, kind: int) -> None:
    """Sort a list by use; sets used alike keep their order."""
    row = floor.lists[kind]
    for place in range(1, floor.kinds[kind].sets):
        moving = row[place]
        to = place
        while to > 0 and floor.sets[row[to - 1]].used > floor.sets[moving].used:
            row[to] = row[to - 1]
            to -= 1
        row[to] = moving


@compiled
def add_job(floor: Floor, number: int, job: int) -> None:
    """Put a job behind the others of a set."""
    chosen = floor.sets[number]
    floor.jobs[job].next = NONE
    if chosen.jobs == 0:
        chosen.first_job = job
    else:
        floor.jobs[chosen.last_job].next = job
    chosen.last_job = job
    chosen.jobs += 1
    chosen.used += 1


@compiled
def gather(floor: Floor, kind: int, count: int) -> int:
    """Take all jobs out of the first sets of a list, in order. Return the first job of the chain, or NONE."""
    first, last = NONE, NONE
    for place in range(count):
        emptied = floor.sets[floor.lists[kind, place]]
        if emptied.jobs > 0:
            if last == NONE:
                first = int(emptied.first_job)
            else:
                floor.jobs[last].next = emptied.first_job
            last = int(emptied.last_job)
        emptied.first_job = NONE
        emptied.last_job = NONE
        emptied.jobs = 0
        emptied.used = 0
    return first


@compiled
def deal(floor: Floor, kind: int, job: int) -> None:
    """Give each job of a chain to the set that is used least."""
    while job != NONE:
        following = int(floor.jobs[job].next)
        add_job(floor, floor.lists[kind, 0], job)
        sort_sets(floor, kind)
        job = following
