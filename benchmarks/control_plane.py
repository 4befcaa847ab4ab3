"""How fast the control plane is: submissions, verdicts, rounds, questions and listeners, on this machine.

    python benchmarks/control_plane.py [--only submits,rounds,questions,listeners] [--quick] [--json]
                                       [--jobs 10000] [--clients 50] [--nodes 1000] [--store URL ...]

Submissions, questions and listeners meet a real server process, with its controller and a SQLite file; its nodes only
say that they are there. Rounds are those of a controller over an engine in memory, with a real SQLite file. `--store`
names further, empty databases such as postgresql://user@host/name. Everything that is started stops at the end.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.control import disk, listeners, questions, rounds, submits  # noqa: E402  after their path
from benchmarks.control.figures import Report  # noqa: E402

PARTS = ("submits", "rounds", "questions", "listeners")
LIMITS = """\
One process answers requests, writes and decides, in one interpreter. Its lock, and not the disk, is the limit: all who
wait at the same time share one commit.
Peers, as published: Kueue's own baseline admits 42.7 workloads/s (15,000 workloads, 30 queues), Slurm's documentation
names 500 simple batch jobs/s, kube-scheduler reaches about 300 pods/s. None of them looks for a promise."""


def main() -> None:
    given = _arguments()
    report = Report()
    report.note(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} at the beginning")
    disk.measure(report)
    small = given.quick
    if "rounds" in given.only:
        rounds.measure(report, given.nodes // 4 if small else given.nodes, 0.1 if small else 1.0)
    if "submits" in given.only:
        jobs = given.jobs // 20 if small else given.jobs
        bursts = [submits.Burst(jobs, given.clients, deadline) for deadline in ("", "+100h")]
        submits.measure(report, bursts, ["", *given.store])
    if "questions" in given.only:
        questions.measure(report, 200 if small else 1000, 5 if small else 20)
    if "listeners" in given.only:
        listeners.measure(report, 200 if small else 1000, given.clients, 20 if small else 100)
    report.note(LIMITS)
    if given.json:
        print(report.to_json())
    else:
        report.show(Console(width=200) if not sys.stdout.isatty() else Console())


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=_parts, default=PARTS, help=f"some of {','.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a twentieth of everything, in about a minute")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--store", action="append", default=[], help="a further, empty database")
    return parser.parse_args()


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    if unknown := set(parts) - set(PARTS):
        raise argparse.ArgumentTypeError(f"there is no part {min(unknown)}")
    return parts


if __name__ == "__main__":
    main()
