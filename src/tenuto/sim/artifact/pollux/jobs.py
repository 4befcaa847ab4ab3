"""A job as the simulated cluster sees it: where it is, what that cost it, and how its training goes on."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Protocol

import numpy as np

from tenuto.model.columns import Floats
from tenuto.sim.artifact.pollux.applications import Nodes
from tenuto.sim.artifact.pollux.genomes import Genome

RESTART = 30.0
"""Seconds without progress after every change of an allocation."""


class Training(Protocol):
    """How a job makes progress, and what the scheduler believes about it."""

    least: int
    """Replicas below which it cannot run."""
    most_nodes: int

    def most(self) -> int:
        """Replicas at most."""

    def place(self, placement: Nodes) -> None:
        """Prepare for a placement."""

    def work(self, placement: Nodes, seconds: float) -> float:
        """Train for so long. Return the seconds that were left when the training ended, or -1."""

    def goodputs(self) -> Floats:
        """Expected goodput by spread and replicas."""

    def goodput_of(self, fair: int) -> float:
        """Expected goodput of so many replicas, were they all on one node."""

    def speedup(self, placement: Nodes) -> float:
        """Expected goodput relative to that of one replica."""


@dataclass(eq=False)
class Job:
    """A job of the trace with what happened to it."""

    number: int
    submitted: float
    training: Training
    allocation: Genome
    """Replicas by node."""
    placement: Nodes = ()
    """The same without the nodes that have none."""
    paused: float = 0.0
    """Seconds for which the last change still costs progress."""
    service: float = 0.0
    """GPU seconds."""
    restarts: int = -1
    """Starts after the first."""
    started: float = nan
    finished: float = nan
    last_size: int = 0
    changes: int = 0
    preempted: int = 0

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return self.finished == self.finished

    @property
    def replicas(self) -> int:
        """GPUs that it holds."""
        return sum(self.placement)

    def run(self, now: float, seconds: float) -> None:
        """Let it do its work from now on."""
        if not self.placement:
            return
        pause = min(self.paused, seconds)
        self.paused -= pause
        left = -1.0
        if seconds > pause:
            left = self.training.work(self.placement, seconds - pause)
        if left >= 0:
            self.finished = now + seconds - left
        self.service += (seconds - max(left, 0.0)) * self.replicas

    def place(self, now: float, allocation: Genome) -> None:
        """Give it other GPUs, or none."""
        self.allocation = allocation
        self.placement = tuple(allocation[allocation > 0].tolist())
        self.changes += 1
        if not self.placement:
            self.preempted += 1
            return
        self.training.place(self.placement)
        self.paused = RESTART
        self.restarts += 1
        self.started = now if np.isnan(self.started) else self.started
        self.last_size = self.replicas

    def kept_after_change(self, now: float) -> float:
        """What a change of its allocation would leave of its speedup: less, the more often it restarted."""
        age = now - self.submitted
        return max(age - max(self.restarts, 0) * RESTART, 0.0) / (age + RESTART)
