"""Nodes and GPUs as gauges: their newest samples, and what the store knows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import TypeVar

from tenuto.model.node import NodeState
from tenuto.monitor.facts import NodeFacts
from tenuto.monitor.prometheus import families as f
from tenuto.monitor.prometheus.sheet import Sheet
from tenuto.wire.sample import DiskSample, GpuSample, NetSample, NodeSample

T = TypeVar("T")
STALE = 30.0
"""Seconds after which a sample tells nothing of now: better no value than an old one."""
MOST_PARTS = 32
"""GPUs, file systems and interfaces of a node that are told one by one: machines with containers have hundreds."""


def put_nodes(
    sheet: Sheet, nodes: Iterable[NodeFacts], samples: Mapping[str, NodeSample], now: float
) -> None:
    """Tell every node with what is known of its hardware."""
    left_out = {"gpus": 0, "disks": 0, "interfaces": 0}
    for node in nodes:
        _put_record(sheet, node)
        sample = samples.get(node.name)
        if sample is None:
            continue
        sheet.put(f.SAMPLED_AT, sample.at, node.name)
        age = now - sample.at
        if node.state is NodeState.OFFLINE or not -inf < age <= STALE:
            continue
        _put_machine(sheet, node.name, sample)
        for gpu in _some(sample.gpus, left_out, "gpus"):
            _put_gpu(sheet, node, gpu, sample.driver)
        for disk in _some(sample.disks, left_out, "disks"):
            _put_disk(sheet, node.name, disk)
        for net in _some(sample.nets, left_out, "interfaces"):
            _put_net(sheet, node.name, net)
    for kind, count in left_out.items():
        sheet.put(f.LEFT_OUT, count, kind)


def _some(parts: tuple[T, ...], left_out: dict[str, int], kind: str) -> tuple[T, ...]:
    left_out[kind] += max(len(parts) - MOST_PARTS, 0)
    return parts[:MOST_PARTS]


def _put_record(sheet: Sheet, node: NodeFacts) -> None:
    sheet.put(f.NODE_UP, float(node.state is not NodeState.OFFLINE), node.name)
    sheet.put(f.NODE_DRAINING, float(node.state is NodeState.DRAINING), node.name)
    sheet.put(f.NODE_SLOTS, node.used, node.name, "used")
    sheet.put(f.NODE_SLOTS, node.slots - node.used, node.name, "free")
    for device, job in node.held.items():
        sheet.put(f.GPU_HELD, float(bool(job)), node.name, device)
        if job:
            sheet.put(f.GPU_JOB, 1.0, node.name, device, job)


def _put_machine(sheet: Sheet, node: str, sample: NodeSample) -> None:
    sheet.put(f.NODE_CPU, _ratio(sample.cpu), node)
    sheet.put(f.NODE_CORES, len(sample.cores) or None, node)
    sheet.put(f.NODE_LOAD, sample.load, node)
    sheet.put(f.NODE_RAM, sample.ram_total, node)
    sheet.put(f.NODE_RAM_USED, sample.ram_used, node)
    sheet.put(f.NODE_SWAP, sample.swap_total, node)
    sheet.put(f.NODE_SWAP_USED, sample.swap_used, node)


def _put_gpu(sheet: Sheet, node: NodeFacts, gpu: GpuSample, driver: str | None) -> None:
    place = node.name, str(gpu.index)
    sheet.put(f.GPU_INFO, 1.0, *place, gpu.uuid or "", gpu.name or "", driver or "")
    sheet.put(f.GPU_LOST, float(gpu.lost), *place)
    sheet.put(f.GPU_USE, _ratio(gpu.utilisation), *place)
    sheet.put(f.GPU_MEMORY, gpu.memory_total, *place)
    sheet.put(f.GPU_MEMORY_USED, gpu.memory_used, *place)
    sheet.put(f.GPU_POWER, gpu.power, *place)
    sheet.put(f.GPU_POWER_LIMIT, gpu.power_limit, *place)
    sheet.put(f.GPU_TEMPERATURE, gpu.temperature, *place)
    sheet.put(f.GPU_FAN, _ratio(gpu.fan), *place)


def _put_disk(sheet: Sheet, node: str, disk: DiskSample) -> None:
    sheet.put(f.DISK, disk.total, node, disk.path)
    sheet.put(f.DISK_USED, disk.used, node, disk.path)
    sheet.put(f.DISK_READ, disk.read, node, disk.path)
    sheet.put(f.DISK_WRITTEN, disk.written, node, disk.path)


def _put_net(sheet: Sheet, node: str, net: NetSample) -> None:
    sheet.put(f.NET_RECEIVED, net.received, node, net.id)
    sheet.put(f.NET_SENT, net.sent, node, net.id)


def _ratio(percent: float | None) -> float | None:
    return None if percent is None else percent / 100.0
