"""Nodes as rows of a table, and how the table's orders are asked for. Pure."""

from __future__ import annotations

from typing import Any

from tenuto.dashboard.wording import NONE, node_path, percent, size
from tenuto.wire.overview import NodeRow
from tenuto.wire.replies import UsageOut

NO_DATA = "No data"
OLD = 30.0
"""Seconds after which what was sampled is no news any more."""
_LARGEST_FIRST = frozenset({"slots", "jobs", "cpu", "ram", "received", "sent", "gpu", "vram"})
"""Orders of the server that begin with the largest."""
_ON_A_PHONE = frozenset({"name", "state", "slots", "cpu", "gpu", "act"})
_LABELS = {
    "name": "Node", "state": "State", "slots": "Slots used", "jobs": "Jobs", "cpu": "CPU", "ram": "RAM used",
    "received": "Net in", "sent": "Net out", "gpu": "GPU", "vram": "GPU memory free", "act": "",
}  # fmt: skip
COLUMNS: tuple[dict[str, Any], ...] = tuple(
    {
        "name": name,
        "label": label,
        "field": name,
        "align": "left" if name in ("name", "state") else "right",
        "sortable": name != "act",
    }
    | ({} if name in _ON_A_PHONE else {"classes": "t-wide", "headerClasses": "t-wide"})
    for name, label in _LABELS.items()
)


def order_of(column: str | None, descending: bool) -> str:
    """What the server is asked for when a head of the table was clicked."""
    name = column or "number"
    turned = descending != (name in _LARGEST_FIRST)
    return f"-{name}" if turned else name


def row_of(node: NodeRow) -> dict[str, Any]:
    """A node in a line."""
    return {
        "name": node.name,
        "path": node_path(node.name),
        "state": node.state,
        "tone": {"online": "t-good", "draining": "t-warn"}.get(node.state, "t-bad"),
        "slots": f"{node.used} of {node.total}",
        "jobs": node.jobs,
        **_use(node.usage),
        "trouble": _trouble(node.usage),
    }


def _use(usage: UsageOut | None) -> dict[str, str]:
    if usage is None or usage.age > OLD:
        return {"cpu": NO_DATA, **dict.fromkeys(("ram", "received", "sent", "gpu", "vram"), NONE)}
    ram = None
    if usage.ram_total and usage.ram_free is not None:
        ram = usage.ram_total - usage.ram_free
    return {
        "cpu": percent(usage.cpu),
        "ram": NONE if ram is None else f"{size(ram)} of {size(usage.ram_total)}",
        "received": _flow(usage.received),
        "sent": _flow(usage.sent),
        "gpu": percent(usage.gpu),
        "vram": NONE if usage.vram_free is None else f"{size(usage.vram_free)} of {size(usage.vram_total)}",
    }


def _flow(value: float | None) -> str:
    return NONE if value is None else f"{size(value)}/s"


def _trouble(usage: UsageOut | None) -> str:
    if usage is None:
        return ""
    if usage.gpus_lost:
        return "1 GPU is lost" if usage.gpus_lost == 1 else f"{usage.gpus_lost} GPUs are lost"
    return usage.gpu_problem or ""
