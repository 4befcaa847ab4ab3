"""How often forecasts of ends hold, in the laboratory: 500 jobs whose speeds are not what their curves say.

Each job's true speed is its curve times a lognormal factor of its own. Forecasts are made when a job is answered and
when it first has slots, and learn only from what became of jobs before; the first 50 are left out.

    python benchmarks/eta_calibration.py [--jobs 500] [--policy NAME ...] [--sigma 0.1 ...] [--seed 1 ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from tenuto.lab.calibration import Calibration, Noise, calibrate, share
from tenuto.model.cluster import Cluster
from tenuto.model.cost import Cost
from tenuto.model.job import ANSWERED, STARTED
from tenuto.model.snapshot import Rules
from tenuto.policy.registry import POLICIES
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.workload import Workload, resolve

LEARNING = 50
COST = 5.0
"""Seconds without progress that a start or a change costs."""


def workload(jobs: int, seed: int, interarrival: float) -> Workload:
    """Jobs of ten minutes to a week on four nodes of eight slots, seven of ten with deadlines."""
    profiles = load_profiles("a100")
    options = GeneratorOptions(
        jobs=jobs,
        mean_interarrival=interarrival,
        seed=seed,
        max_slots=8,
        min_tightness=1.0,
        max_tightness=3.0,
        best_effort_share=0.3,
    )
    return resolve(generate(options, profiles), profiles, Cluster.regular("calibration", nodes=4, slots=8))


def cells(found: Calibration, moment: str) -> Iterator[str]:
    checks = found.of(moment, after=LEARNING)
    yield str(len(checks))
    yield f"{share(checks, late=False):.0%}"
    yield f"{share(checks, late=True):.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--jobs", type=int, default=500)
    parser.add_argument(
        "--interarrival", type=float, default=3200.0, help="seconds; at 2,250 all slots are asked for"
    )
    parser.add_argument("--policy", nargs="+", default=["elasticflow", "fifo"])
    parser.add_argument("--sigma", nargs="+", type=float, default=[0.1, 0.3])
    parser.add_argument("--seed", nargs="+", type=int, default=[1, 2, 3])
    asked = parser.parse_args()
    table = Table(
        "policy",
        "seed",
        "sigma",
        *(f"{a} {b}" for a in (ANSWERED, STARTED) for b in ("jobs", "P50", "P90")),
        "CPU s",
    )
    for name in asked.policy:
        for seed in asked.seed:
            trace = workload(asked.jobs, seed, asked.interarrival)
            cost = Cost.by_size(trace.sizes, lambda _: COST)
            for sigma in asked.sigma:
                begun = time.process_time()
                found = calibrate(trace, POLICIES[name], cost, Rules(), Noise(sigma, seed))
                spent = time.process_time() - begun
                table.add_row(
                    name,
                    str(seed),
                    f"{sigma:g}",
                    *cells(found, ANSWERED),
                    *cells(found, STARTED),
                    f"{spent:.1f}",
                )
    Console().print(table)


if __name__ == "__main__":
    main()
