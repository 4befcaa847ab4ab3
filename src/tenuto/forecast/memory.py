"""What a policy's memory says about promises: whose it knows, and how to forget some of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.reservations import Reservations, Segment
from tenuto.policy.chronus.book import Leases


def promised_numbers(memory: Any) -> frozenset[int]:
    """The jobs whose promises are part of a memory."""
    return frozenset(memory.number.tolist()) if isinstance(memory, Reservations | Leases) else frozenset()


def lets_wait(memory: Any) -> bool:
    """Whether the policy lets jobs wait whose deadlines it cannot promise, and goes on to look at these deadlines.

    To others a deadline without a promise means that the job was refused.
    """
    return isinstance(memory, Leases)


def planned_ends(memory: Any, numbers: Ints) -> Floats:
    """When the plan of each of these jobs ends, in the snapshot's time; `inf` for those without a plan."""
    ends: Floats = np.full(len(numbers), np.inf)
    if isinstance(memory, Reservations) and len(memory.number):
        at = np.minimum(np.searchsorted(memory.number, numbers), len(memory.number) - 1)
        return np.where(memory.number[at] == numbers, memory.end[at], ends)
    if isinstance(memory, Leases):
        for row, number in enumerate(numbers.tolist()):
            ends[row] = max((part.end for part in plan_of(memory, number)), default=np.inf)
    return ends


def plan_of(memory: Any, number: int) -> tuple[Segment, ...]:
    """A job's reservation, part by part; leases reserve the size that the job asked for, told as 0 slots."""
    if isinstance(memory, Reservations):
        return tuple(part for part in memory.of(number) if part.slots)  # it may be planned to wait
    if not isinstance(memory, Leases):
        return ()
    [rows] = (memory.number == number).nonzero()
    if len(rows) == 0:
        return ()
    first = int(memory.parts[: rows[0]].sum())
    leases = memory.planned[first : first + int(memory.parts[rows[0]])].tolist()
    held = [memory.current] if memory.holds[rows[0]] else []
    return tuple(
        Segment(lease * memory.length, (lease + 1) * memory.length, 0) for lease in sorted([*held, *leases])
    )


def forgetting(memory: Any, numbers: Collection[int]) -> Any:
    """The same memory without the promises of these jobs."""
    if not numbers or not isinstance(memory, Reservations | Leases):
        return memory
    kept = ~np.isin(memory.number, list(numbers))
    parts = memory.parts[kept]
    if isinstance(memory, Leases):
        return replace(
            memory,
            number=frozen(memory.number[kept]),
            holds=frozen(memory.holds[kept]),
            parts=frozen(parts),
            planned=frozen(memory.planned[np.repeat(kept, memory.parts)]),
        )
    # The segments of the forgotten stay in the pool, where nobody points at them.
    return replace(
        memory,
        number=frozen(memory.number[kept]),
        offset=frozen(memory.offset[kept]),
        parts=frozen(parts),
        end=frozen(memory.end[kept]),
    )
