"""How soon a platform is there: seconds from the start of `tenuto up` until it answers, and until it decides.

    python benchmarks/start_up.py [--runs 5]

Each run begins with a new home (tables are made, tokens drawn) and starts once more on the same home. The target is
two seconds until it answers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from rich.console import Console
from rich.table import Table

UP = (sys.executable, "-m", "tenuto", "up", "--json", "--nodes", "2", "--slots", "4")
DOWN = (sys.executable, "-m", "tenuto", "down", "--yes")


def start(home: Path) -> tuple[float, float]:
    """Start a server, measure, and end it without its nodes."""
    environment = {**os.environ, "TENUTO_HOME": str(home)}
    with httpx.Client(trust_env=False, verify=False) as client, (home / "log").open("ab") as log:
        begun = time.monotonic()
        with subprocess.Popen(UP, env=environment, stdout=subprocess.PIPE, stderr=log) as server:
            assert server.stdout
            url = json.loads(server.stdout.readline())["url"]
            client.get(f"{url}/api/v1/healthz").raise_for_status()
            answers = time.monotonic() - begun
            client.headers["Authorization"] = f"Bearer {(home / 'token').read_text().strip()}"
            while client.get(f"{url}/api/v1/cluster").json()["controller"]["state"] != "deciding":
                time.sleep(0.01)
            decides = time.monotonic() - begun
            server.terminate()
    return answers, decides


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    measured: dict[str, list[tuple[float, float]]] = {"new home": [], "same home again": []}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as place:
            for seconds in measured.values():
                seconds.append(start(Path(place)))
            subprocess.run(DOWN, env={**os.environ, "TENUTO_HOME": place}, check=True, capture_output=True)
    table = Table("start", "answers (median s)", "worst", "decides (median s)", "worst", box=None)
    for name, seconds in measured.items():
        answers, decides = zip(*seconds, strict=True)
        numbers = [f"{what(of):.2f}" for of in (answers, decides) for what in (statistics.median, max)]
        table.add_row(name, *numbers)
    Console().print(table)


if __name__ == "__main__":
    main()
