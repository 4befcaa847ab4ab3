"""The lease plan as an integer program, solved by HiGHS.

Every job must get its leases; beyond that the program uses as much of the present lease as it can, or as
little. Jobs of the same size, need and deadline are one row of whole numbers (how many of them run in a lease):
any such numbers can be dealt out in turn so that each job gets its leases, and the search is spared all the
plans that differ only in names. Effort is limited by the size of the program and the nodes of the search, never in
seconds, so that the same program has the same answer on every machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints
from tenuto.policy.chronus.greedy import latest_leases, packing_order, surely_too_much

MOST_CHOICES = 5_000
"""Above this many pairs of a job and a lease that it may use (see `choices`), the caller should plan greedily.

The size is the limit that counts: HiGHS does most of its work at the root of the search tree, where it heeds neither
a limit of nodes nor one of simplex steps. Up to this size, hard programs took it three seconds at most.
"""
MOST_NODES = 200
"""Nodes of the search tree."""
GAP = 0.01
"""Share of the present lease's slots by which an answer may miss the best one; less than a slot is no miss."""


class Kinds(NamedTuple):
    """Jobs that differ in nothing but their name, `jobs` of each kind."""

    size: Ints
    need: Ints
    available: Ints
    jobs: Ints
    of_job: Ints
    """For each job its kind."""


def choices(available: Ints) -> int:
    """How many yes-or-no choices a program has: one for each lease of each job before its deadline."""
    return int(available.sum())


def best_leases(size: Ints, need: Ints, available: Ints, capacity: Ints, eager: bool) -> Flags | None:
    """Choose `need[i]` of job i's first `available[i]` leases, `size[i]` slots each, for every job.

    `capacity` are the slots of each lease. Among all plans, take one that uses most (`eager`) or fewest slots in
    the first lease. None if not every job can be served, or no plan was found within the limits.
    """
    available = np.clip(available, 0, len(capacity))
    if surely_too_much(size, need, available, capacity):
        return None
    if not need.any():
        return np.zeros((len(size), len(capacity)), dtype=np.bool_)
    start = _first_guess(size, need, available, capacity, eager)
    if start is not None and int(size @ start[:, 0]) == _bound(size, need, available, capacity, eager):
        return start
    kinds = _kinds(size, need, available)
    served = _solve(kinds, capacity, eager, None if start is None else _counted(kinds, start))
    return None if served is None else _dealt(kinds, served)


def _first_guess(size: Ints, need: Ints, available: Ints, capacity: Ints, eager: bool) -> Flags | None:
    """A plan that is often the best one already: large jobs first, in the first lease only if that is wanted."""
    if eager:
        now = np.zeros(len(size), dtype=np.bool_)
        room = int(capacity[0])
        for job in packing_order(size, need, available).tolist():
            if need[job] > 0 and size[job] <= room:
                now[job] = True
                room -= int(size[job])
        later = latest_leases(size, need - now, available - 1, capacity[1:])
        if later is not None:
            return np.concatenate([now[:, None], later], axis=1)
    return latest_leases(size, need, available, capacity)


def _bound(size: Ints, need: Ints, available: Ints, capacity: Ints, eager: bool) -> int:
    """No plan uses more (`eager`) or fewer slots in the first lease than this."""
    if eager:
        return min(int(size[need > 0].sum()), int(capacity[0]))
    return int(size[(need == available) & (need > 0)].sum())


def _kinds(size: Ints, need: Ints, available: Ints) -> Kinds:
    columns, of_job, jobs = np.unique(
        np.stack([size, need, available], axis=1), axis=0, return_inverse=True, return_counts=True
    )
    return Kinds(columns[:, 0], columns[:, 1], columns[:, 2], jobs, of_job.ravel())


def _counted(kinds: Kinds, chosen: Flags) -> Ints:
    """How many jobs of each kind run in each lease."""
    served = np.zeros((len(kinds.size), chosen.shape[1]), dtype=np.int64)
    np.add.at(served, kinds.of_job, chosen)
    return served


def _dealt(kinds: Kinds, served: Ints) -> Flags:
    """Deal each kind's leases to its jobs in turn: nobody gets a lease twice, as none has more than all of them."""
    chosen = np.zeros((len(kinds.of_job), served.shape[1]), dtype=np.bool_)
    for kind, counts in enumerate(served):
        jobs = np.flatnonzero(kinds.of_job == kind)
        leases = np.repeat(np.arange(len(counts)), counts)
        chosen[jobs[np.arange(len(leases)) % len(jobs)], leases] = True
    return chosen


def _solve(kinds: Kinds, capacity: Ints, eager: bool, start: Ints | None) -> Ints | None:
    """The best whole numbers of each kind in each lease that the solver finds."""
    import highspy  # not part of the base installation

    solver = highspy.Highs()
    for option, value in _options(int(capacity[0])).items():
        solver.setOptionValue(option, value)
    solver.passModel(_program(highspy, kinds, capacity, eager))
    kind, lease = _cells(kinds)
    if start is not None:
        known = highspy.HighsSolution()
        known.col_value = start[kind, lease].astype(np.float64).tolist()
        solver.setSolution(known)
    solver.run()
    if solver.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        return None
    served = np.zeros((len(kinds.size), len(capacity)), dtype=np.int64)
    served[kind, lease] = np.rint(np.asarray(solver.getSolution().col_value)).astype(np.int64)
    return served


def _options(first_capacity: int) -> dict[str, Any]:
    return {
        "output_flag": False,
        "threads": 1,
        "parallel": "off",
        "random_seed": 0,
        "mip_max_nodes": MOST_NODES,
        "mip_rel_gap": 0.0,
        "mip_abs_gap": max(0.99, GAP * first_capacity),
    }


def _cells(kinds: Kinds) -> tuple[Ints, Ints]:
    """The variables: kind and lease of each, kind by kind."""
    kind = np.repeat(np.arange(len(kinds.size)), kinds.available)
    first = np.cumsum(kinds.available) - kinds.available
    return kind, np.arange(len(kind)) - first[kind]


def _program(highspy: Any, kinds: Kinds, capacity: Ints, eager: bool) -> Any:
    """Rows: the leases that each kind needs, then the slots that each lease has."""
    kind, lease = _cells(kinds)
    variables, demands = len(kind), len(kinds.size)
    leases = int(kinds.available.max())
    demanded: Floats = (kinds.need * kinds.jobs).astype(np.float64)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = variables, demands + leases
    program.sense_ = highspy.ObjSense.kMaximize if eager else highspy.ObjSense.kMinimize
    program.col_cost_ = np.where(lease == 0, kinds.size[kind], 0).astype(np.float64)
    program.col_lower_ = np.zeros(variables)
    program.col_upper_ = kinds.jobs[kind].astype(np.float64)
    program.row_lower_ = np.concatenate([demanded, np.full(leases, -highspy.kHighsInf)])
    program.row_upper_ = np.concatenate([demanded, capacity[:leases].astype(np.float64)])
    program.integrality_ = [highspy.HighsVarType.kInteger] * variables
    matrix = program.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = 2 * np.arange(variables + 1, dtype=np.int32)
    matrix.index_ = np.stack([kind, demands + lease], axis=1).ravel().astype(np.int32)
    matrix.value_ = np.stack([np.ones(variables), kinds.size[kind]], axis=1).ravel().astype(np.float64)
    return program
