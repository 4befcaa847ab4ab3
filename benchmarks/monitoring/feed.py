"""Samples of a cluster that is none: made once, told again and again as those of many nodes at many moments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tenuto.model.series import Points, Subject
from tenuto.monitor.columns import points_of
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NetSample, NodeSample

GPUS = 8
CORES = 64
UPLOAD = 2
"""Samples in one upload."""
MINUTE = 60
BEGIN = 1_799_971_200
"""The beginning of an hour."""
KINDS = 97
"""Minutes that are not alike: no two of an hour are."""


def samples(chance: random.Random, begin: float, count: int) -> list[NodeSample]:
    """What a busy node tells of itself, once a second."""
    at = [round(begin + second + chance.uniform(0, 0.004), 3) for second in range(count)]
    power = [chance.gauss(300, 30) for _ in range(GPUS)]
    memory = [chance.randrange(20_000, 70_000) << 20 for _ in range(GPUS)]
    return [_sample(chance, moment, power, memory) for moment in at]


def _sample(chance: random.Random, at: float, power: list[float], memory: list[int]) -> NodeSample:
    return NodeSample(
        at=at,
        cpu=round(chance.uniform(30, 50), 1),
        cores=tuple(round(chance.uniform(0, 100), 1) for _ in range(CORES)),
        load=round(chance.uniform(20, 25), 2),
        ram_used=(200 << 30) + (chance.randrange(1 << 18) << 12),
        ram_total=512 << 30,
        swap_used=0,
        swap_total=0,
        disks=(
            DiskSample(
                path="/", used=300 << 30, total=900 << 30, read=0.0, written=float(chance.randrange(10**7))
            ),
        ),
        nets=(NetSample(id="eth0", bandwidth=1e11, received=float(chance.randrange(10**9)), sent=1e8),),
        gpus=tuple(_gpu(chance, index, power, memory) for index in range(GPUS)),
        driver="570.86.15",
    )


def _gpu(chance: random.Random, index: int, power: list[float], memory: list[int]) -> GpuSample:
    if chance.random() < 0.05:
        memory[index] += chance.randrange(-64, 64) << 21
    return GpuSample(
        index=index,
        uuid=f"GPU-{index:08x}-0000-0000-0000-000000000000",
        name="NVIDIA H100 80GB HBM3",
        utilisation=float(min(100, round(chance.gauss(96, 4)))),
        memory_used=memory[index],
        memory_total=81_559 << 20,
        power=round(power[index] + chance.gauss(0, 15), 3),
        power_limit=700.0,
        temperature=float(round(chance.gauss(60, 0.7))),
        processes=(
            GpuProcess(
                pid=4000 + index,
                name="python",
                user="kim",
                memory=memory[index],
                job="0f3a",
                worker="1.worker.0",
            ),
        ),
    )


class Feed:
    """What many nodes tell, two seconds at a time. Their values are made once, for some minutes, and told in turn."""

    def __init__(self, nodes: int, gpus_only: bool = False) -> None:
        self.names = [f"node-{number:04d}" for number in range(nodes)]
        chance = random.Random(7)
        self._told = [_uploads(samples(chance, BEGIN, MINUTE), gpus_only) for _ in range(KINDS)]

    def upload(self, node: int, begin: int) -> list[Points]:
        """What a node tells of the two seconds from `begin` on."""
        told = self._told[(node + begin // MINUTE) % KINDS][begin % MINUTE // UPLOAD]
        shift, name = begin - begin % MINUTE - BEGIN, self.names[node]
        at = [round(moment + shift, 3) for moment in told[0].at]
        return [
            Points(subject=Subject("node", name, each.subject.part), at=at, values=each.values)
            for each in told
        ]

    def all_nodes(self, begin: int) -> Iterator[list[Points]]:
        """What all nodes tell of the two seconds from `begin` on."""
        return (self.upload(node, begin) for node in range(len(self.names)))


def _uploads(told: Sequence[NodeSample], gpus_only: bool) -> list[list[Points]]:
    if gpus_only:
        told = [replace(sample, cores=(), disks=(), nets=()) for sample in told]
    parts = [points_of("", told[first : first + UPLOAD]) for first in range(0, len(told), UPLOAD)]
    return [[p for p in part if not gpus_only or p.subject.part.startswith("gpu")] for part in parts]
