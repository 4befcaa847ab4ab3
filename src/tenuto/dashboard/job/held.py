"""Which GPUs a job was on, and when: their use at other times is that of others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tenuto.dashboard.job.course import Point, unix
from tenuto.wire.replies import AttemptOut, NodeOut


@dataclass(frozen=True, slots=True)
class Held:
    """A GPU, and when the job was on it, in Unix seconds."""

    node: str
    part: str
    """As numbers are asked for: `gpu:0`."""
    times: list[tuple[float, float]] = field(default_factory=list)

    def only_then(self, line: Iterable[Point], slack: float) -> list[Point]:
        """A line of the GPU's, where the job was on it."""
        return [
            (at, value if any(since - slack <= at <= until for since, until in self.times) else None)
            for at, value in line
        ]


def held(attempts: Iterable[AttemptOut], nodes: Mapping[str, NodeOut], now: float) -> list[Held]:
    """The GPUs of a job's workers; none for those on shares of processors, or on nodes that are gone."""
    devices = {
        (name, slot.index): slot.device for name, node in nodes.items() for slot in node.slots if slot.device
    }
    found: dict[tuple[str, str], Held] = {}
    for one in attempts:
        device = None if one.slot is None else devices.get((one.node, one.slot))
        if device is None or one.started_at is None:
            continue
        gpu = found.setdefault((one.node, device), Held(one.node, f"gpu:{device}"))
        gpu.times.append((unix(one.started_at), now if one.ended_at is None else unix(one.ended_at)))
    return [found[key] for key in sorted(found)]
