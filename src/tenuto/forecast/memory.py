"""What a policy's memory says about promises: whose it knows, and how to forget some of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from tenuto.model.columns import frozen
from tenuto.model.reservations import Reservations
from tenuto.policy.chronus.book import Leases


def promised_numbers(memory: Any) -> frozenset[int]:
    """The jobs whose promises are part of a memory."""
    return frozenset(memory.number.tolist()) if isinstance(memory, Reservations | Leases) else frozenset()


def lets_wait(memory: Any) -> bool:
    """Whether the policy lets jobs wait whose deadlines it cannot promise, and goes on to look at these deadlines.

    To others a deadline without a promise means that the job was refused.
    """
    return isinstance(memory, Leases)


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
