"""Checkpoints of a training state, and what is told about them."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from tenuto.sdk.pytorch.saving import read_state, write_state
from tenuto.sdk.pytorch.state import TrainingState, copy_of
from tenuto.sdk.saver import Saved, Saver
from tenuto.sdk.telling import Teller
from tenuto.wire import records


class Keeper:
    """One worker's; only the first of a group is asked to keep anything."""

    def __init__(self, saver: Saver | None, teller: Teller) -> None:
        self._saver = saver
        self._teller = teller

    def newest(self) -> TrainingState | None:
        """The newest whole one that was kept."""
        if self._saver is None:
            return None
        found = self._saver.checkpoints.newest()
        for damaged in self._saver.checkpoints.damaged:
            told = {"path": str(damaged.path), "problem": damaged.reason, "why": "damaged"}
            self._teller.tell(records.CHECKPOINT, step=0, generation=0, **told)
        return None if found is None else read_state(found)

    def keep(self, step: int, generation: int, state: TrainingState, why: str) -> None:
        """In the background; training waits for the copy only."""
        if self._saver is None:
            return
        began = time.perf_counter()
        copied = copy_of(state)
        blocked = time.perf_counter() - began
        tell = partial(self._tell, generation=generation, blocked=blocked, why=why)
        self._saver.start(step, partial(write_state, state=copied), tell)

    def keep_now(self, step: int, generation: int, state: TrainingState, why: str) -> None:
        """Before anything else."""
        if self._saver is None:
            return
        saved = self._saver.save(step, partial(write_state, state=state))
        self._tell(saved, generation=generation, blocked=saved.seconds, why=why)

    def _tell(self, saved: Saved, *, generation: int, blocked: float, why: str) -> None:
        told: dict[str, Any] = {"path": str(saved.path), "bytes": saved.size, "why": why}
        if saved.path is None:
            told = {"path": None, "problem": saved.problem, "why": why}
        milliseconds = {"blocked_ms": round(1000 * blocked, 3), "written_ms": round(1000 * saved.seconds, 3)}
        self._teller.tell(records.CHECKPOINT, step=saved.step, generation=generation, **told, **milliseconds)
