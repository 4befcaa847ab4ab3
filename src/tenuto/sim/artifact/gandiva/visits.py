"""When Gandiva looks at the cluster: at arrivals and, once there are none, every slot. Jobs have no say (Q11)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Floats

FREE_OF_CHARGE, ORDINARY, RESTART = -1, 0, 1
"""What running jobs pay after a visit."""

VISIT = np.dtype(
    [
        ("time", np.float64),
        ("elapsed", np.float64),  # seconds since the previous visit
        ("arrived", np.int64),  # jobs submitted by then
        ("charge", np.int64),
        # What is logged.
        ("efficiency", np.float64),
        ("busy", np.int64),
        ("running", np.int64),  # jobs that hold GPUs
        ("waiting", np.int64),
    ],
    align=True,
)


def at_arrivals(submitted: Floats, slot: float) -> NDArray[np.void]:
    """Plan the visits up to the last arrival.

    Arrivals within one slot are merged and put off to the slot's end, unless they are the last. After as many
    visits as the slot has seconds all jobs restart (Q5). After the last arrival nobody pays any more.
    """
    last = float(submitted[-1])
    times, reaches = [float(submitted[0])], [float(submitted[0])]
    while reaches[-1] < last:
        now = times[-1]
        following = float(submitted[np.searchsorted(submitted, reaches[-1], side="right")])
        if int(following - now) <= slot and following < last:
            times.append(now + slot)
            reaches.append(max(following, now + slot))
        else:
            times.append(following)
            reaches.append(following)
    visits = np.zeros(len(times), dtype=VISIT)
    visits["time"] = times
    visits["elapsed"] = np.diff(times, prepend=times[0])
    visits["arrived"] = np.searchsorted(submitted, reaches, side="right")
    visits["charge"] = np.where(np.arange(len(times)) % int(slot) == 0, RESTART, ORDINARY)
    visits["charge"][0] = ORDINARY
    visits["charge"][-1] = FREE_OF_CHARGE
    return visits


def every_slot(last: float, slot: float, jobs: int, count: int) -> NDArray[np.void]:
    """Plan so many visits after the last one."""
    visits = np.zeros(count, dtype=VISIT)
    visits["time"] = last + slot * np.arange(1, count + 1)
    visits["elapsed"] = slot
    visits["arrived"] = jobs
    visits["charge"] = FREE_OF_CHARGE
    return visits
