"""How fast replays are: CPU seconds and jobs per second, both semantics, beside the reference simulator's.

Reads the public traces and the reference's timings from the directory that TENUTO_SHARED names; without it,
only the bundled trace and Figure 10's generated one are replayed.

    python benchmarks/replay.py [--set NAME ...] [--policy NAME ...] [--mode ours|compat]

Many replays side by side are the laboratory's business: `time tenuto lab figure 8b --data DIR`.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tenuto.model.snapshot import Rules
from tenuto.policy.registry import POLICIES, policy_named
from tenuto.sim import artifact
from tenuto.sim.cost import load_cost
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.library import find_trace
from tenuto.sim.loop import simulate, warm_up
from tenuto.sim.outcome import Outcome
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.report import summarise
from tenuto.sim.workload import Workload, resolve

FIGURE_10 = GeneratorOptions(jobs=100, mean_interarrival=1500, seed=1, min_tightness=1.5, max_tightness=1.5)


def reference_rows() -> list[dict[str, str]]:
    """The reference's runs of policies that both programs have, newest revision."""
    shared = os.environ.get("TENUTO_SHARED")
    if shared is None:
        return []
    with (Path(shared) / "reference" / "timings.csv").open(encoding="utf-8") as stream:
        rows = [row for row in csv.DictReader(stream) if row["revision"] == "head"]
    rows = [row for row in rows if policy_named(row["policy"]) is not None]
    rows += [  # the largest trace, which the reference was not run on
        {"set": "figure8b_cluster04", "policy": "ef-accessctrl", "trace": "cluster04", "cluster": "n128g8",
         "slot": "60", "profiles": "a100", "cpu_s": "", "complete": "False"},
    ]  # fmt: skip
    return rows


def load(trace: str, cluster: str, profiles: str) -> Workload:
    known = load_profiles(profiles)
    if trace == "100jobs_1500lam":
        return resolve(generate(FIGURE_10, known), known, load_cluster(cluster))
    shared = os.environ.get("TENUTO_SHARED", "")
    for folder in ("data/traces", "data/traces/generated"):
        path = Path(shared) / folder / f"{trace}.csv"
        if path.exists():
            return resolve(read_trace(path), known, load_cluster(cluster))
    return resolve(read_trace(find_trace(trace)), known, load_cluster(cluster))


def ours(workload: Workload, policy: str, slot: float) -> Outcome:
    rules = Rules(interval=slot, margin=0.0)
    warm_up(POLICIES[policy], rules)
    cost = load_cost("default", workload.sizes, workload.cluster)
    return simulate(workload, POLICIES[policy], cost=cost, rules=rules)


def compat(workload: Workload, policy: str, slot: float) -> Outcome:
    artifact.warm_up(policy)
    return artifact.replay(workload, policy, slot=slot, revision=artifact.Revision.HEAD)


MODES = {"ours": ours, "compat": compat}


def row_of(reference: dict[str, str], mode: str) -> tuple[str, ...]:
    policy = policy_named(reference["policy"])
    assert policy is not None
    workload = load(reference["trace"], reference["cluster"], reference["profiles"])
    outcome = MODES[mode](workload, policy.name, float(reference["slot"]))
    summary = summarise(workload, outcome, policy=policy.name, slot=float(reference["slot"]), compat=None)
    stopped = "" if reference["complete"] == "True" else ">"
    theirs = float(reference["cpu_s"]) if reference["cpu_s"] else None
    return (
        reference["set"],
        policy.name,
        mode,
        f"{len(workload.trace):,}",
        f"{summary.met:,}",
        f"{summary.broken}" if mode == "ours" and policy.promises else "",
        f"{summary.cpu_s:.2f}",
        f"{len(workload.trace) / max(summary.cpu_s, 1e-3):,.0f}",
        "-" if theirs is None else f"{stopped}{theirs:.1f}",
        "-" if theirs is None else f"{stopped}{theirs / max(summary.cpu_s, 1e-3):,.0f}x",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--set", nargs="*", help="only these sets of the reference's timings")
    parser.add_argument("--policy", nargs="*", help="only these policies (our names)")
    parser.add_argument("--mode", choices=MODES, help="only one of the two semantics")
    arguments = parser.parse_args()
    console = Console(width=150)
    table = Table(
        "set", "policy", "semantics", "jobs", "met", "broken", "CPU s", "jobs/s", "reference CPU s", "faster",
        box=None,
    )  # fmt: skip
    rows = reference_rows() or [
        {"set": name, "policy": policy, "trace": name, "cluster": cluster, "slot": slot, "profiles": "a100",
         "cpu_s": "", "complete": "True"}
        for name, cluster, slot in (("lab-200", "n8g8", "60"), ("100jobs_1500lam", "n16g8", "240"))
        for policy in POLICIES if policy != "fifo"
    ]  # fmt: skip
    for reference in rows:
        policy = policy_named(reference["policy"])
        if arguments.set and reference["set"] not in arguments.set:
            continue
        if arguments.policy and (policy is None or policy.name not in arguments.policy):
            continue
        for mode in [arguments.mode] if arguments.mode else MODES:
            table.add_row(*row_of(reference, mode))
    console.print(table)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    console.print(f"peak memory of this process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
