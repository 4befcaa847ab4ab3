"""The best way to share slots if the prices of everybody's sizes simply add up: dynamic programming."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints


@compiled
def cheapest(price: Floats, sizes: Ints, capacity: int) -> Ints:
    """Choose for each row one of the sizes, together at most the capacity, so that the sum of the prices is least.

    Among equal sums the first column wins, and rows at the end are served first.
    """
    rows, columns = price.shape
    least = np.zeros(capacity + 1)
    before = np.zeros(capacity + 1)
    choice = np.zeros((rows, capacity + 1), dtype=np.int16)
    for row in range(rows):
        before[:] = least
        least[:] = np.inf
        for column in range(columns):
            own, size = price[row, column], sizes[column]
            if own == np.inf:
                continue
            for slots in range(size, capacity + 1):
                total = before[slots - size] + own
                if total < least[slots]:
                    least[slots] = total
                    choice[row, slots] = column
    chosen = np.zeros(rows, dtype=np.int64)
    slots = capacity
    for row in range(rows - 1, -1, -1):
        chosen[row] = choice[row, slots]
        slots -= sizes[chosen[row]]
    return chosen
