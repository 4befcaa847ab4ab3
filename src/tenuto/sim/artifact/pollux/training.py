"""Two kinds of training: measured applications whose batch adapts, and any other model along its curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from tenuto.model.columns import Floats
from tenuto.sim.artifact.pollux.applications import Application, Nodes
from tenuto.sim.artifact.pollux.goodput import (
    MORE_NODES,
    ONE_NODE,
    Belief,
    Limits,
    best_batch,
    efficiency,
    goodputs,
    split,
)
from tenuto.sim.artifact.pollux.jobs import Training
from tenuto.sim.artifact.pollux.model import fit
from tenuto.sim.artifact.pollux.truth import gradients, step_times
from tenuto.sim.workload import Workload

_ALONE = {"ncf": 32768}
"""Applications that stay on one GPU, with their batch."""
_MOST_REPLICAS, _MOST_NODES = 64, 16
"""As far as the measurements reach."""


@dataclass
class Curve(Training):
    """A model without measurements: it follows its curve at a fixed batch, which the scheduler knows."""

    left: float
    """Steps."""
    rate: Floats
    """Steps per second by replicas, beginning with none; linear between the sizes of the curve."""
    least: int
    most_nodes: int

    def most(self) -> int:
        """As far as the curve goes."""
        return len(self.rate) - 1

    def place(self, placement: Nodes) -> None:
        """Nothing adapts."""

    def work(self, placement: Nodes, seconds: float) -> float:
        """Do steps at the speed of the curve."""
        rate = float(self.rate[sum(placement)])
        if rate * seconds < self.left:
            self.left -= rate * seconds
            return -1.0
        return seconds - self.left / rate

    def goodputs(self) -> Floats:
        """The curve itself, however the replicas are spread."""
        table = np.zeros((2, len(self.rate)))
        table[:] = self.rate
        return table

    def goodput_of(self, fair: int) -> float:
        """The curve, as far as it goes."""
        return float(self.rate[min(max(fair, self.least), self.most())])

    def speedup(self, placement: Nodes) -> float:
        """By the curve; where it does not begin with one replica, as if it were linear before."""
        return float(self.rate[sum(placement)] / self.rate[self.least]) * self.least


def curve_of(workload: Workload, row: int) -> Curve:
    """Make a training of one row of a workload."""
    rate, sizes = workload.rate[row], workload.sizes
    runs = (rate > 0) & (sizes <= workload.cluster.total)
    least, most = int(sizes[runs][0]), int(sizes[runs][-1])
    by_replicas = np.interp(np.arange(most + 1), sizes[runs], rate[runs])
    by_replicas[:least] = 0.0
    return Curve(float(workload.trace.steps[row]), by_replicas, least, len(workload.cluster.slots))


@dataclass
class Measured(Training):
    """A measured application, which its agent observes and adapts."""

    application: Application
    per_node: int
    """GPUs of a node of this cluster."""
    least: int = 1
    most_nodes: int = _MOST_NODES
    local_batch: int = 0
    extra_passes: int = 0
    epoch: int = 0
    progress: float = 0.0
    seen: dict[tuple[int, int, int], tuple[float, float]] = field(default_factory=dict)
    """Steps that were timed: nodes, replicas and local batch, with the seconds of a gradient and of a step."""
    belief: Belief | None = None
    """Nothing before the first step."""
    tried: int = 0
    """The most replicas that it has run on."""
    _table: Floats | None = None

    @property
    def limits(self) -> Limits:
        """The batches among which the agent chooses."""
        application = self.application
        return Limits(application.initial_batch, application.largest_batch, *application.local_batches)

    def most(self) -> int:
        """Twice what was tried, so that the agent learns step by step."""
        if self.application.name in _ALONE:
            return 1
        return min(max(2 * self.tried, 1), _MOST_REPLICAS, self._most_by_batch())

    def _most_by_batch(self) -> int:
        return self.limits.largest // self.limits.least_local

    def place(self, placement: Nodes) -> None:
        """Choose the batch."""
        limits, replicas = self.limits, sum(placement)
        batch = _ALONE.get(self.application.name, 0)
        if batch == 0 and self.belief is not None:
            choice = best_batch(self.belief, len(placement), replicas)
            local, extra = choice.local_batch, choice.extra_passes
        else:
            batch = batch or max(limits.initial, limits.least_local * replicas)
            local, extra = split(limits, replicas, float(ceil(batch / replicas)), float(limits.initial))
        self.local_batch = min(local, limits.largest // (replicas * (extra + 1)))
        self.extra_passes = extra

    def work(self, placement: Nodes, seconds: float) -> float:
        """Train epoch by epoch; the batch is chosen anew between them. Epochs end at whole seconds."""
        while seconds > 0:
            speed = self._observe(placement)
            goal = float(self.application.progress[self.epoch])
            if self.progress + speed * seconds < goal:
                self.progress += speed * seconds
                seconds = 0.0
            else:
                seconds -= round((goal - self.progress) / speed)
                self.progress = goal
                self.epoch += 1
                if self.epoch == self.application.epochs:
                    return seconds
            self.place(placement)
        return -1.0

    def _observe(self, placement: Nodes) -> float:
        """Time a step and note it. Return the true goodput."""
        step, sync = step_times(self.application, placement, self.local_batch)
        replicas, gradient = sum(placement), step - sync
        batch = replicas * self.local_batch * (self.extra_passes + 1)
        scale = batch / self.application.initial_batch
        noise = gradients(self.application, batch, self.epoch)
        self._learn((len(placement), replicas, self.local_batch), (gradient, step), noise)
        return efficiency(*noise, scale) * scale / (step + gradient * self.extra_passes)

    def _learn(
        self, key: tuple[int, int, int], times: tuple[float, float], noise: tuple[float, float]
    ) -> None:
        """Take the newest gradients for true; fit the model anew if this was never timed before."""
        if self.belief is not None and key in self.seen:
            if noise != (self.belief.sqr, self.belief.var):
                self.belief = Belief(self.belief.parameters, *noise, self.limits)
                self._table = None
            return
        self.seen[key] = times
        seconds = np.array(list(self.seen.values()))
        parameters = fit(np.array(list(self.seen)), seconds[:, 0].copy(), seconds[:, 1].copy())
        self.belief = Belief(parameters, *noise, self.limits)
        self.tried = max(self.tried, key[1])
        self._table = None

    def goodputs(self) -> Floats:
        """By the fitted model; before anything was seen, as if all GPUs were worth the same."""
        if self.belief is None:
            return np.array([[0.0, 1.0], [0.0, 0.0]])
        if self._table is None:
            self._table = goodputs(self.belief, self.per_node, self.most())
        return self._table

    def goodput_of(self, fair: int) -> float:
        """By the model too."""
        if self.belief is None:
            return float(fair)
        return best_batch(self.belief, 1, min(fair, self._most_by_batch())).goodput

    def speedup(self, placement: Nodes) -> float:
        """By the model; before anything was seen, as if all GPUs were worth the same."""
        if self._table is None:
            return float(sum(placement))
        spread = ONE_NODE if len(placement) == 1 else MORE_NODES
        return float(self._table[spread, sum(placement)] / self._table[ONE_NODE, 1])
