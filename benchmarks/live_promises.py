"""Ten training jobs with deadlines on four CPU slots, live and simulated: deadlines met, side by side.

    python benchmarks/live_promises.py [--policies elasticflow,edf,fifo] [--picture docs/pictures/live-promises.png]

Every job is a real PyTorch training that rescales in place. Ends with 1 if a promise was broken. A live run takes
two to three minutes for each policy.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.live.draw import draw  # noqa: E402  after the path that it is found by
from benchmarks.live.run import Outcome, run_live, run_simulated  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policies", default="elasticflow,edf,fifo")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "pictures" / "live-promises.png")
    options = parser.parse_args()

    policies = options.policies.split(",")
    simulated = [run_simulated(policy) for policy in policies]
    live = [run_live(policy) for policy in policies]
    draw(live, simulated, options.picture)
    Console().print(_table(live, simulated))
    broken = [name for outcome in live for name in outcome.broken]
    print(f"Promises broken: {', '.join(broken) or 'none'}. Drew {options.picture}.")
    return 1 if broken else 0


def _table(live: list[Outcome], simulated: list[Outcome]) -> Table:
    table = Table("policy", "", "admitted", "deadlines met", "rescales", box=None)
    for trained, replayed in zip(live, simulated, strict=True):
        table.add_row(
            trained.policy,
            "live",
            str(trained.admitted),
            f"{trained.met}/{trained.of}",
            str(trained.rescales),
        )
        table.add_row("", "simulated", str(replayed.admitted), f"{replayed.met}/{replayed.of}", "")
    return table


if __name__ == "__main__":
    sys.exit(main())
