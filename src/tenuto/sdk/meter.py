"""Step times and throughput, from the samples that were really processed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from tenuto.sdk.telling import Teller, plain
from tenuto.sdk.worker_log import write_progress
from tenuto.wire import records

_MOST_VALUES = 100


@dataclass(frozen=True, slots=True)
class _Mark:
    """Where a measurement began."""

    at: float
    step: int
    samples: int
    generation: int


class Meter:
    """Makes a record of every so many steps."""

    def __init__(self, teller: Teller, every: int = 10, clock: Callable[[], float] = time.monotonic) -> None:
        self.step = 0
        """Updates so far, as far as it was told."""
        self._teller = teller
        self._every = every
        self._clock = clock
        self._mark: _Mark | None = None
        self._values: Mapping[str, Any] = {}

    def report(self, values: Mapping[str, Any]) -> None:
        """What the user reported in this step, at most so many numbers as a record holds."""
        self._values = values if len(values) <= _MOST_VALUES else dict(islice(values.items(), _MOST_VALUES))

    def stepped(self, *, step: int, samples: int, generation: int, rank: int, world: int) -> None:
        """An update was applied; both counts are of the whole job, from its beginning."""
        self.step = step
        mark = self._mark
        if mark is not None and mark.generation == generation and step % self._every:
            return
        now = _Mark(self._clock(), step, samples, generation)
        if step % self._every == 0:
            speed = {} if mark is None or mark.generation != generation else _speed(mark, now, rank)
            self._teller.tell(
                records.STEP,
                step=step,
                generation=generation,
                **{
                    "seconds": None,
                    "samples": samples,
                    **speed,
                    "world": world,
                    "rank": rank,
                    "values": self._values,
                },
            )
        # A generation's first step has its pause in it, which has a record of its own.
        self._mark = now

    def keep_progress(self, path: Path, total: Callable[[], int | None]) -> None:
        """From now on the newest step, the total and what was reported last stand in this file."""
        written = 0

        def write() -> None:
            nonlocal written
            if self.step != written:
                written = self.step
                write_progress(path, {**plain(self._values), "step": written, "total": total()})

        self._teller.at_every_turn(write)


def _speed(mark: _Mark, now: _Mark, rank: int) -> dict[str, float]:
    elapsed, steps, samples = now.at - mark.at, now.step - mark.step, now.samples - mark.samples
    if steps <= 0 or elapsed <= 0:
        return {}
    whole_job = {"samples_per_second": samples / elapsed} if rank == 0 and samples > 0 else {}
    return {"seconds": elapsed / steps, **whole_job}
