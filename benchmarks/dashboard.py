"""What the page weighs and costs with a long past and many nodes, on this machine.

    python benchmarks/dashboard.py [--quick] [--jobs 100000] [--nodes 1000] [--pages 50] [--json]

A real server with a store of that many ended jobs, nodes with eight GPUs that only tell, and a real browser. Everything
that is started stops at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.control.figures import Report  # noqa: E402  after their path
from benchmarks.pages import measures  # noqa: E402
from benchmarks.pages.town import a_town  # noqa: E402
from tests.dashboard.browser import a_browser, chromium  # noqa: E402

AIMS = "Aims: every page below 1,000 kB and useful within 1,000 ms; an event on the page within 2,000 ms."
LIVE = 200
"""Jobs that hold slots or wait while it is measured."""


def main() -> None:
    given = _arguments()
    if chromium() is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    report = Report()
    report.note(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
    report.note(f"{given.jobs:,} jobs, {given.nodes:,} nodes with 8 GPUs, {LIVE} live jobs")
    with (
        tempfile.TemporaryDirectory(prefix="dashboard-") as place,
        a_town(Path(place), given.jobs, given.nodes) as served,
    ):
        with served.client() as client:
            for number in range(LIVE):
                client.submit({**measures.LIVE, "name": f"live-{number}"})
        with a_browser() as browser:
            measures.weigh(report, served, browser)
            measures.delays(report, served, browser, 5 if given.quick else 20)
        measures.rounds(report, served, given.pages, 10 if given.quick else 50)
    report.note(AIMS)
    if given.json:
        print(report.to_json())
    else:
        report.show(Console(width=160) if not sys.stdout.isatty() else Console())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer submissions")
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
