"""What stands on a node's page, in words: its slots, its GPUs and who is on them, its cores. Pure; all is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from tenuto.dashboard.charts import colour_of
from tenuto.dashboard.wording import NONE, job_path, link, moment, percent, size
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import NodeOut
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NodeSample
from tenuto.wire.series import GapOut

TONES = {"online": "t-good", "draining": "t-warn", "offline": "t-bad"}


def about(node: NodeOut) -> str:
    """Its state and where it is."""
    labels = ", ".join(f"{name}={value}" for name, value in sorted(node.labels.items()))
    rest = [f"address {escape(node.address)}" if node.address else "", escape(labels)]
    rest += [f"joined {moment(node.joined_at)}"]
    rest += [escape(node.problem)] if node.problem else []
    rest += [f"last heard of {moment(node.heard_at)}"] if node.state == "offline" else []
    return (
        f'<div class="t-figure t-word {TONES.get(node.state, "")}">{escape(node.state)}</div>'
        f'<div class="t-muted">{" · ".join(part for part in rest if part)}</div>'
    )


def slots(node: NodeOut, names: Mapping[str, str]) -> str:
    """HTML: who holds each slot, and who shares it."""
    lines = "".join(
        f"<tr><td>{slot.index}</td><td>{_device(slot.device, slot.kind)}</td>"
        f"<td>{_holders([slot.job, *slot.guests], names) or _nobody(node.state)}</td></tr>"
        for slot in node.slots
    )
    places = f'<div class="t-muted">{_places(node, names)}</div>' if node.cpu.used else ""
    head = "<thead><tr><th>Slot</th><th>Device</th><th>Job</th></tr></thead>"
    return f'<table class="t-plain">{head}{lines}</table>{places}'


def _device(device: str, kind: str) -> str:
    return escape(f"{kind} {device}".strip() if device else "CPU share")


def _nobody(state: str) -> str:
    return f'<span class="t-muted">{"free" if state == "online" else escape(state)}</span>'


def _holders(jobs: Iterable[str | None], names: Mapping[str, str]) -> str:
    return ", ".join(
        f'<i class="t-swatch" style="background:{colour_of(job)}"></i>{link(job_path(job), names.get(job, job))}'
        for job in jobs
        if job is not None
    )


def _places(node: NodeOut, names: Mapping[str, str]) -> str:
    jobs = ", ".join(link(job_path(job), names.get(job, job)) for job in node.cpu.jobs)
    return f"without a GPU: {node.cpu.used} of {node.cpu.total} places, {jobs}"


_WIDE = {"classes": "t-wide", "headerClasses": "t-wide"}
GPU_COLUMNS: tuple[dict[str, Any], ...] = tuple(
    {"name": name, "label": label, "field": name, "align": "left" if name in ("gpu", "who") else "right"}
    | (_WIDE if name in ("temperature", "fan") else {})
    for name, label in (
        ("gpu", "GPU"), ("use", "Utilisation"), ("memory", "Memory used"), ("power", "Power"),
        ("temperature", "Temperature"), ("fan", "Fan"), ("who", "Processes"),
    )
)  # fmt: skip
"""On a phone some are left out."""


def gpu_rows(sample: NodeSample, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The GPUs as rows of a table; `who` is HTML."""
    return [_gpu_row(gpu, names) for gpu in sample.gpus]


def _gpu_row(gpu: GpuSample, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "gpu": f"{gpu.index}  {gpu.name or ''}".strip(),
        "lost": gpu.lost,
        "use": percent(gpu.utilisation),
        "memory": _of(size, gpu.memory_used, gpu.memory_total),
        "power": _of(lambda watts: f"{watts:.0f} W", gpu.power, gpu.power_limit),
        "temperature": NONE if gpu.temperature is None else f"{gpu.temperature:.0f} °C",
        "fan": percent(gpu.fan),
        "who": "<br>".join(_process(process, names) for process in gpu.processes or ()) or NONE,
    }


def _of(write: Any, value: float | None, most: float | None) -> str:
    if value is None:
        return NONE
    return write(value) if most is None else f"{write(value)} of {write(most)}"


def _process(process: GpuProcess, names: Mapping[str, str]) -> str:
    whose = link(job_path(process.job), names.get(process.job, process.job)) if process.job else ""
    rest = [process.user or "", process.name or "", f"pid {process.pid}"]
    rest += [] if process.memory is None else [size(process.memory)]
    told = escape(" ".join(part for part in rest if part))
    return f"{whose} {told}" if whose else told


def jobs_on(sample: NodeSample) -> set[str]:
    """The jobs that have to be named."""
    return {process.job for gpu in sample.gpus for process in gpu.processes or () if process.job is not None}


def gpu_trouble(sample: NodeSample) -> str:
    """What is wrong with its GPUs, in a sentence; empty if nothing is."""
    lost = [str(gpu.index) for gpu in sample.gpus if gpu.lost]
    if len(lost) == 1:
        return f"GPU {lost[0]} is lost: the driver does not find it any more."
    if lost:
        return f"GPUs {', '.join(lost)} are lost: the driver does not find them any more."
    return sample.gpu_problem or ""


def cores(sample: NodeSample) -> str:
    """HTML: a small bar for each core, its number and percent when hovered."""
    bars = "".join(
        f'<i title="core {number}: {percent(core)}"><b style="height:{core or 0.0:.0f}%"></b></i>'
        for number, core in enumerate(sample.cores)
    )
    load = "" if sample.load is None else f"load {sample.load:.2f}, "
    return (
        f'<div class="t-cores" role="img" aria-label="{len(sample.cores)} cores">{bars}</div>'
        f'<div class="t-muted">{load}CPU {percent(sample.cpu)}, '
        f"RAM {_of(size, sample.ram_used, sample.ram_total)}, {_disks(sample.disks)}</div>"
    )


def _disks(disks: Sequence[DiskSample]) -> str:
    return ", ".join(f"disk {escape(disk.path)} {_of(size, disk.used, disk.total)}" for disk in disks)


def gap_lines(gaps: Sequence[GapOut], most: int = 5) -> str:
    """HTML: the times of which there are no samples, and why."""
    if not gaps:
        return ""
    more = f'<div class="t-muted">and {len(gaps) - most} more</div>' if len(gaps) > most else ""
    return '<div class="t-muted">No samples:</div>' + "".join(
        f"<div>{moment(rfc3339(gap.since))} to {moment(rfc3339(gap.until))}: {escape(gap.why)}</div>"
        for gap in gaps[:most]
    ) + more  # fmt: skip
