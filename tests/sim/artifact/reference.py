"""The reference's runs: which there are, the workload of each, and what it decided about each job."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tenuto.model.cluster_names import cluster_named
from tenuto.sim.artifact import POLICIES, Revision, replay
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.outcome import Outcome
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload, resolve

OURS = {policy.reference_name: name for name, policy in POLICIES.items()}


@dataclass(frozen=True)
class Run:
    """One run of the reference, e.g. `figure10/ef-accessctrl.2022-12`."""

    name: str
    trace: str
    cluster: str
    slot: float
    profiles: str = "a100"

    @property
    def policy(self) -> str:
        return OURS[self.name.split("/")[1].removesuffix(".2022-12")]

    @property
    def revision(self) -> Revision:
        return Revision.R2022 if self.name.endswith(".2022-12") else Revision.HEAD

    def workload(self, shared: Path) -> Workload:
        (path,) = (shared / "data" / "traces").rglob(f"{self.trace}.csv")
        return workload_of(read_trace(path), self.cluster, self.profiles)

    def replay(self, shared: Path) -> tuple[Workload, Outcome]:
        workload = self.workload(shared)
        return workload, replay(workload, self.policy, slot=self.slot, revision=self.revision)


@dataclass(frozen=True)
class Verdict:
    """What was decided about a job."""

    admitted: bool
    finished: float | None
    met: bool


def decided(workload: Workload, outcome: Outcome) -> dict[str, Verdict]:
    """Our decisions. The reference calls every best-effort job met that has finished."""
    met = outcome.met | (workload.trace.best_effort & ~np.isnan(outcome.finished))
    return {
        job: Verdict(
            bool(outcome.admitted[row]),
            None if np.isnan(outcome.finished[row]) else float(outcome.finished[row]),
            bool(met[row]),
        )
        for row, job in enumerate(workload.trace.ids)
    }


def reference_decided(shared: Path, run: Run) -> dict[str, Verdict]:
    """The reference's decisions."""
    with (shared / "reference" / f"{run.name}.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["job_id"]: Verdict(
                row["admitted"] == "1",
                float(row["finish_time"]) if row["finish_time"] else None,
                row["met"] == "1",
            )
            for row in csv.DictReader(file)
        }


@dataclass(frozen=True)
class Totals:
    """Sums over a run, as far as they are known of one whose jobs are not."""

    met: int
    jct: float
    """Seconds from submission to end, over all jobs."""
    last_end: float
    events: int


def totals(workload: Workload, outcome: Outcome) -> Totals:
    """Sum up one of our replays."""
    return Totals(
        met=int(np.count_nonzero(outcome.met)),
        jct=float(np.nansum(outcome.finished - workload.trace.submitted)),
        last_end=float(np.nanmax(outcome.finished)),
        events=len(outcome.events.time),
    )


def shipped_log(shared: Path, policy: str) -> dict[str, tuple[float, float]]:
    """Start and end of each job in the log of Figure 10 that came with the reference."""
    path = shared / "reference" / "figure10-shipped" / policy / "job.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return {
            row["job_id"]: (float(row["start_time"]), float(row["end_time"])) for row in csv.DictReader(file)
        }


def workload_of(trace: Trace, cluster: str, profiles: str = "a100") -> Workload:
    named = cluster_named(cluster)
    assert named is not None
    return resolve(trace, load_profiles(profiles), named)


def figure_10() -> Workload:
    """The trace of Figure 10, drawn by our own generator."""
    options = GeneratorOptions(jobs=100, mean_interarrival=1500, seed=1, min_tightness=1.5, max_tightness=1.5)
    return workload_of(generate(options, load_profiles("a100")), "n16g8")
