"""Which samples belong to which step: the same for every number of workers. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Batch:
    """The samples of one update, as positions in its epoch's order."""

    step: int
    """How many updates came before it."""
    epoch: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many samples."""
        return self.stop - self.start


@dataclass(frozen=True, slots=True)
class Course:
    """The whole way of a training run. The last batch of an epoch is smaller if the division does not come out even."""

    samples: int
    """In the dataset."""
    global_batch: int
    steps: int
    """All updates of the run."""

    def __post_init__(self) -> None:
        if self.samples < 1 or self.global_batch < 1 or self.steps < 0:
            raise ValueError(f"there is no such course: {self}")

    @classmethod
    def of_epochs(cls, samples: int, global_batch: int, epochs: int) -> Course:
        """So many times through the dataset."""
        return cls(samples, global_batch, epochs * -(-samples // global_batch))

    @property
    def steps_per_epoch(self) -> int:
        """Updates for each sample once."""
        return -(-self.samples // self.global_batch)

    def at(self, step: int) -> Batch:
        """The batch after so many updates."""
        epoch, within = divmod(step, self.steps_per_epoch)
        start = within * self.global_batch
        return Batch(step, epoch, start, min(start + self.global_batch, self.samples))
