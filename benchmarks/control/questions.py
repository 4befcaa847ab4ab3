"""How soon questions are answered while a thousand jobs are live."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.control.figures import Report, quantile
from benchmarks.control.http import Address, Connection
from benchmarks.control.server import a_server
from benchmarks.control.submits import NODES, SLOTS, Burst, submitted

TABLE = "Questions (milliseconds until the answer is there)"
DUE = "+100h"
API = "/api/v1"


def measure(report: Report, jobs: int, repeat: int) -> None:
    """Ask a server that has so many live jobs with deadlines, one question after the other."""
    with tempfile.TemporaryDirectory() as place, a_server(Path(place), NODES, SLOTS) as served:
        ids = submitted(served, Burst(jobs, 50, DUE))
        for name, (method, path, body) in _questions(ids[0]).items():
            took = asyncio.run(_asked(served.address, method, path, body, repeat))
            _add(report, f"{name}, {jobs:,} live", took)
        _add(report, f"tenuto ps (a process of its own), {jobs:,} live", _listed(Path(place)))
        report.note(f"server with {jobs:,} live jobs: {served.resident:.0f} MB resident")


def _questions(job: str) -> Mapping[str, tuple[str, str, Any]]:
    new = Burst(1, 1, DUE).forms()[0]
    return {
        "dry run of one job": ("POST", f"{API}/plan", {"jobs": [new]}),
        "what if one job more": ("POST", f"{API}/whatif", {"add": [new]}),
        "what if a node were lost": ("POST", f"{API}/whatif", {"lose": ["node-0000"]}),
        "explain": ("GET", f"{API}/jobs/{job}/explain", None),
        "one job": ("GET", f"{API}/jobs/{job}", None),
        "page of 50 jobs": ("GET", f"{API}/jobs?limit=50", None),
        "page of 500 jobs": ("GET", f"{API}/jobs?limit=500", None),
    }


async def _asked(address: Address, method: str, path: str, body: Any, repeat: int) -> list[float]:
    connection = await Connection.open(address)
    content = b"" if body is None else json.dumps(body).encode()
    took = []
    for _ in range(repeat + 1):
        begun = time.perf_counter()
        status, answer = await connection.ask(method, path, content)
        took.append(time.perf_counter() - begun)
        if status != 200:
            raise RuntimeError(f"{method} {path}: the server answered {status}: {answer}")
    await connection.close()
    return took[1:]  # the first one loads what questions need


def _listed(home: Path) -> list[float]:
    environment = {**os.environ, "TENUTO_HOME": str(home)}
    took = []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "tenuto", "ps"], env=environment, check=True, capture_output=True
        )
        took.append(time.perf_counter() - begun)
    return took


def _add(report: Report, what: str, took: list[float]) -> None:
    report.add(
        TABLE,
        {
            "question": what,
            "p50": 1e3 * quantile(took, 0.5),
            "p90": 1e3 * quantile(took, 0.9),
            "most": 1e3 * max(took),
        },
    )
