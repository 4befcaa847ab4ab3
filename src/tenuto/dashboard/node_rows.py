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
COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "name", "label": "Node", "field": "name", "align": "left", "sortable": True},
    {"name": "state", "label": "State", "field": "state", "align": "left", "sortable": True},
    {"name": "slots", "label": "Slots used", "field": "slots", "align": "right", "sortable": True},
    {"name": "jobs", "label": "Jobs", "field": "jobs", "align": "right", "sortable": True},
    {"name": "cpu", "label": "CPU", "field": "cpu", "align": "right", "sortable": True},
    {"name": "ram", "label": "RAM used", "field": "ram", "align": "right", "sortable": True},
    {"name": "received", "label": "Net in", "field": "received", "align": "right", "sortable": True},
    {"name": "sent", "label": "Net out", "field": "sent", "align": "right", "sortable": True},
    {"name": "gpu", "label": "GPU", "field": "gpu", "align": "right", "sortable": True},
    {"name": "vram", "label": "GPU memory free", "field": "vram", "align": "right", "sortable": True},
    {"name": "act", "label": "", "field": "act", "align": "right"},
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
