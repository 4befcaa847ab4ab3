"""The account of samples: each contributes to one applied update per epoch, or the ledger refuses. Pure.

It is part of the training state: it travels to newcomers and into checkpoints with the model, so it tells the story of
the updates that made this model, and of no others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.sdk.course import Batch, Course


class LedgerRefused(Exception):
    """An update would leave samples out or count some twice. This is a fault of tenuto."""


class Ledger:
    """Counts what was applied."""

    def __init__(self, samples: int) -> None:
        self._epoch_size = samples
        self.steps = 0
        """Updates."""
        self.samples = 0
        """In all those updates."""
        self.generations = 0
        """Memberships that took part."""
        self.losses = 0
        """Workers that were lost on the way."""
        self._generation: int | None = None

    @property
    def epoch(self) -> int:
        """The one that is under way."""
        return self.samples // self._epoch_size

    @property
    def epochs(self) -> float:
        """How many times the dataset was gone through."""
        return self.samples / self._epoch_size

    def applied(self, batch: Batch, generation: int) -> None:
        """An update with these samples was made."""
        epoch, position = divmod(self.samples, self._epoch_size)
        expected = (self.steps, epoch, position)
        found = (batch.step, batch.epoch, batch.start)
        if generation != self._generation:
            raise LedgerRefused(f"generation {generation} has not joined; {self._generation} has")
        if found != expected or not batch.start < batch.stop <= self._epoch_size:
            fault = "is counted already" if found < expected else "leaves samples out"
            raise LedgerRefused(f"{batch} {fault}: step, epoch and position stand at {expected}")
        self.steps += 1
        self.samples += batch.size

    def joined(self, generation: int, world: int, lost: int = 0) -> None:
        """A membership goes on from here; so many were lost from the one before."""
        if world < 1:
            raise LedgerRefused(f"generation {generation} has no members")
        if generation != self._generation:
            self._generation = generation
            self.generations += 1
            self.losses += lost

    def must_fit(self, course: Course) -> None:
        """Refuse to go on with another dataset or another global batch than this account began with."""
        at = course.at(self.steps)
        if course.samples != self._epoch_size:
            raise InputInvalid(
                f"the training state is that of a dataset of {self._epoch_size:,} samples; this has {course.samples:,}",
                remedy="Go on with the same dataset, or begin in another checkpoint directory",
                field="dataset",
            )
        if at.epoch * course.samples + at.start != self.samples:
            raise InputInvalid(
                f"the training state had {self.samples:,} samples in {self.steps:,} updates, which does not fit"
                f" a global batch of {course.global_batch:,}",
                remedy="Go on with the same global batch, or begin in another checkpoint directory",
                field="global_batch",
            )

    def summary(self) -> str:
        """For people, such as "60,000 samples, each once, over 7 generations"."""
        parts = [*self._counts(), f"over {_count(self.generations, 'generation')}"]
        if self.losses:
            parts.append(f"{_count(self.losses, 'worker')} lost")
        return ", ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "epoch_size": self._epoch_size,
            "steps": self.steps,
            "samples": self.samples,
            "generations": self.generations,
            "losses": self.losses,
            "generation": self._generation,
        }

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Ledger:
        """As it was kept."""
        ledger = cls(told["epoch_size"])
        ledger.steps, ledger.samples = told["steps"], told["samples"]
        ledger.generations, ledger.losses = told["generations"], told["losses"]
        ledger._generation = told["generation"]
        return ledger

    def _counts(self) -> list[str]:
        whole, rest = divmod(self.samples, self._epoch_size)
        if whole == 1 and not rest:
            return [_count(self.samples, "sample"), "each once"]
        if not whole:
            return [f"{self.samples:,} of {_count(self._epoch_size, 'sample')}", "each once"]
        times = f"each once in each of {whole:,} epochs" if whole > 1 else "each once in one epoch"
        if rest:
            times += f" and {rest:,} of them once more"
        return [_count(self._epoch_size, "sample"), times]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
