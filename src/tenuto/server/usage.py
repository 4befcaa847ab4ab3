"""What nodes are doing, from their newest samples. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tenuto.model.node import Node, Slot
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import UsageOut
from tenuto.wire.sample import GpuSample, NodeSample


def usage_of(sample: NodeSample, now: float) -> UsageOut:
    """A sample in a line."""
    memory = [
        (gpu.memory_total, gpu.memory_total - gpu.memory_used)
        for gpu in sample.gpus
        if gpu.memory_total is not None and gpu.memory_used is not None
    ]
    return UsageOut(
        at=rfc3339(sample.at),
        age=age_of(sample, now),
        cpu=sample.cpu,
        ram_free=_less(sample.ram_total, sample.ram_used),
        ram_total=sample.ram_total,
        received=_sum(net.received for net in sample.nets),
        sent=_sum(net.sent for net in sample.nets),
        gpu=mean(gpu.utilisation for gpu in sample.gpus),
        vram_free=sum(free for _, free in memory) if memory else None,
        vram_total=sum(total for total, _ in memory) if memory else None,
        gpus_lost=sum(gpu.lost for gpu in sample.gpus),
        gpu_problem=sample.gpu_problem,
    )


def age_of(sample: NodeSample, now: float) -> float:
    """Seconds; a node whose clock is ahead of ours has told it just now."""
    return round(max(now - sample.at, 0.0), 3)


def gpus_of(node: Node, sample: NodeSample | None) -> Iterator[tuple[GpuSample, int | None]]:
    """The GPUs of a node, each with the slot that is made of it; those of its slots if nothing is sampled."""
    slots = {slot.device: number for number, slot in enumerate(node.slots) if slot.device}
    if sample is None or not sample.gpus:
        yield from (
            (GpuSample(index=_index(slot, number), name=slot.kind), number)
            for number, slot in enumerate(node.slots)
            if slot.device
        )
        return
    for gpu in sample.gpus:
        yield gpu, slots.get(str(gpu.index), slots.get(gpu.uuid or ""))


def gpu_count(node: Node, sample: NodeSample | None) -> int:
    """How many GPUs `gpus_of` tells."""
    sampled = len(sample.gpus) if sample is not None else 0
    return sampled or sum(1 for slot in node.slots if slot.device)


def _index(slot: Slot, number: int) -> int:
    return int(slot.device) if slot.device.isascii() and slot.device.isdecimal() else number


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _less(total: int | None, used: int | None) -> int | None:
    return None if total is None or used is None else total - used
