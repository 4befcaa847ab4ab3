"""Overviews as a server tells them, for tests of what a terminal makes of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
NOW = datetime(2026, 11, 16, 14, 3, 22, tzinfo=UTC)
GIB = 1 << 30


def moment(**later: float) -> str:
    """So much later than now."""
    return (NOW + timedelta(**later)).isoformat()


def a_node(name: str = "node-0", **fields: Any) -> Json:
    usage = {
        "at": moment(),
        "age": 0.6,
        "cpu": 42.0,
        "ram_free": 8 * GIB,
        "ram_total": 32 * GIB,
        "received": 2_500_000.0,
        "sent": 90.0,
        "gpu": 75.0,
        "vram_free": 40 * GIB,
        "vram_total": 80 * GIB,
        "gpus_lost": 0,
        "gpu_problem": None,
    }
    occupied = {"cpu": 0, "cpu_total": 1, "gpu": 1, "gpu_total": 2}
    made = {"name": name, "state": "online", "used": 1, "total": 2, "kinds": ["A100"], "jobs": 1}
    return {**made, "occupied": occupied, "usage": usage, **fields}


def a_gpu(index: int = 0, **fields: Any) -> Json:
    made: Json = {
        "node": "node-0",
        "state": "online",
        "index": index,
        "uuid": f"GPU-{index}",
        "name": "A100",
        "utilisation": 75.0,
        "memory_used": 10 * GIB,
        "memory_total": 40 * GIB,
        "power": 250.0,
        "power_limit": 400.0,
        "temperature": 61.0,
        "fan": None,
        "lost": False,
        "jobs": [{"id": "k1", "name": "훈련"}],
    }
    return {**made, **fields}


def a_job(id_: str = "k1", **fields: Any) -> Json:
    made: Json = {
        "id": id_,
        "name": "훈련",
        "owner": "민준",
        "state": "running",
        "wish": "",
        "workers": 2,
        "min_workers": 1,
        "max_workers": 4,
        "done": 0.5,
        "speed": 20.0,
        "unit": "steps",
        "samples_per_second": 1234.0,
        "gpu": 75.0,
        "eta": moment(minutes=12),
        "deadline": moment(hours=1),
        "promised": moment(hours=1),
        "promise": "holds",
        "submitted_at": moment(hours=-1),
        "elapsed": 600.0,
        "idle_since": None,
        "nodes": ["node-0"],
    }
    return {**made, **fields}


def an_overview(nodes: list[Json], gpus: list[Json], jobs: list[Json], total_jobs: int | None = None) -> Json:
    return {
        "cluster": {
            "version": "0.1.0",
            "policy": "elasticflow",
            "controller": {"state": "deciding"},
            "slots": {"total": 8, "usable": 8, "used": 4},
            "nodes": {"online": 2, "offline": 1, "draining": 0},
            "jobs": {"running": 1, "queued": 2},
            "draining": False,
        },
        "promises": {"holds": 3, "at_risk": 1, "kept": 12, "broken": 0},
        "nodes": nodes,
        "gpus": gpus,
        "jobs": jobs,
        "of": {"nodes": len(nodes), "gpus": len(gpus), "jobs": total_jobs or len(jobs)},
    }
