"""Since when each GPU has not been used: what must be remembered of samples to tell who holds one for nothing."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from tenuto.monitor.latest import SET_BACK
from tenuto.wire.sample import GpuSample, NodeSample

LONGEST_SILENCE = 30.0
"""Seconds without a sample after which nobody can tell what a GPU was doing meanwhile."""
SAMPLES_MISSED = 5
"""The same in samples, where they come more rarely."""


@dataclass(frozen=True, slots=True)
class GpuUse:
    """What is known of one GPU's use."""

    at: float
    """The newest sample."""
    quiet_since: float | None = None
    """Since when every sample has told that it is not used; None if the newest tells that it is, or tells nothing."""
    used_at: float | None = None
    """The newest sample that told that it is used."""


class GpuUses:
    """One small value for each GPU of every node. Safe to use from any thread."""

    def __init__(self, below: float, period: float) -> None:
        """`below`: percent of utilisation that are no use; `period`: seconds between two samples."""
        self._below = below
        self._longest_silence = max(LONGEST_SILENCE, SAMPLES_MISSED * period)
        self._lock = threading.Lock()
        self._nodes: dict[str, dict[str, GpuUse]] = {}

    def take(self, node: str, samples: Sequence[NodeSample]) -> None:
        """Have new samples of a node, oldest first; what was heard before is not heard again."""
        with self._lock:
            known = self._nodes.get(node, {})
            heard = max((use.at for use in known.values()), default=-inf)
            if (
                samples and heard - samples[-1].at >= SET_BACK
            ):  # what was told by the wrong clock says nothing
                known, heard = {}, -inf
            for sample in samples:
                if sample.at <= heard:
                    continue
                known = {
                    str(gpu.index): self._after(known.get(str(gpu.index)), gpu, sample.at)
                    for gpu in sample.gpus
                }
            self._nodes[node] = known

    def of(self, node: str, device: str) -> GpuUse | None:
        """A GPU, named as CUDA_VISIBLE_DEVICES names it; None if nothing is known of it."""
        with self._lock:
            return self._nodes.get(node, {}).get(device)

    def forget(self, node: str) -> None:
        """A node was removed."""
        with self._lock:
            self._nodes.pop(node, None)

    def _after(self, known: GpuUse | None, gpu: GpuSample, at: float) -> GpuUse:
        known = known or GpuUse(at)
        if gpu.utilisation is None:
            return replace(known, at=at, quiet_since=None)
        if gpu.utilisation >= self._below:
            return GpuUse(at, None, at)
        begins = known.quiet_since is None or at - known.at > self._longest_silence
        return replace(known, at=at, quiet_since=at if begins else known.quiet_since)
