"""What monitoring takes: the history of numbers of a large cluster, and what watching costs those who train.

    python benchmarks/monitor.py [--full] [--only history,cost] [--json] [--store URL]

The history is fed with 50 nodes for three minutes, with `--full` with 1,000 nodes of 8 GPUs for ten; as fast as it
goes, by a simulated clock. `--store` names an empty PostgreSQL to feed instead of a file. Shares of a core are of
processor time, and depend less on what else the machine does than times.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.control.figures import Report  # noqa: E402  after their path
from monitoring import history  # noqa: E402

PARTS = ("history", "cost")


def main() -> None:
    given = _arguments()
    if "history" in given.only:
        report = Report()
        history.measure(report, history.FULL if given.full else history.SMALL, given.store)
        if given.json:
            print(report.to_json())
        else:
            report.show(Console(width=160) if not sys.stdout.isatty() else Console())
    if "cost" in given.only:
        from monitoring.cost import print_costs  # needs torch

        print_costs(30.0 if given.full else 10.0, 10 if given.full else 5)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", type=lambda text: tuple(text.split(",")), default=PARTS, help=f"some of {','.join(PARTS)}"
    )
    parser.add_argument("--full", action="store_true", help="1,000 nodes for ten minutes; takes some minutes")
    parser.add_argument("--json", action="store_true", help="the figures of the history for programs")
    parser.add_argument("--store", default="", help="an empty PostgreSQL to feed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
