"""The past of a platform as files that a replay reads: the trace, the curves, the cluster, what changes cost."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from tenuto.errors import InputInvalid
from tenuto.forecast.past import TraceJob
from tenuto.forecast.trace_of import Told, cluster_of, told
from tenuto.model.curve import Profiles
from tenuto.sim.read_profiles import OURS
from tenuto.sim.write_trace import Form, write_trace

Json = Mapping[str, Any]

TRACE, PROFILES, CLUSTER = "trace.csv", "profiles.csv", "cluster.yaml"
COSTS, JOBS, ABOUT = "costs.json", "jobs.csv", "about.json"
OUTCOME = ("state", "reply", "promise", "submitted", "started", "ended", "rescales")
"""Columns of `jobs.csv` after the id, and after name and owner if they are told."""


@dataclass(frozen=True, slots=True)
class Export:
    """Everything that is to be written."""

    told: Told
    jobs: Sequence[Json]
    """As the server told them, oldest first."""
    ids: Mapping[str, str]
    """What each job is called in the files, by its id."""
    time: Json
    """The nodes and rules of the time, as the server told them."""
    anonymous: bool

    def about(self) -> dict[str, Any]:
        """What the files hold, for programs."""
        time = self.time
        return {
            "since": time["since"],
            "until": time["until"],
            "zero": self.told.zero,
            "jobs": len(self.told.workload.trace),
            "curves": len(self.told.workload.profiles.curves),
            "guesses": dict(self.told.guessed),
            "left_out": dict(self.told.left_out),
            "slots": self.told.workload.cluster.total,
            "nodes": len(time["nodes"]),
            "nodes_share": time["share"],
            "nodes_changes": time["changes"],
            "policy": time["policy"],
        }


def export_of(jobs: Sequence[Json], time: Json, *, anonymous: bool = False) -> Export:
    """Make a trace of jobs as the server tells them, oldest first; refuse if none of them can be told of."""
    ids = {job["id"]: f"job-{number}" if anonymous else job["id"] for number, job in enumerate(jobs, start=1)}
    rows = [_row(job, ids[job["id"]]) for job in jobs]
    try:
        made = told(rows, cluster_of(time["nodes"] or {"": 0}, "history"), "history")
    except ValueError:
        raise InputInvalid(
            "no job of that time can be told of",
            remedy="Look with tenuto history, and give an earlier --since",
        ) from None
    return Export(made, jobs, ids, time, anonymous)


def _row(job: Json, name: str) -> TraceJob | str:
    written = job["trace"]
    if written is None:
        return str(job["left_out"])
    return TraceJob(
        id=name,
        arrived=written["arrived"],
        steps=written["steps"],
        deadline=written["deadline"],
        batch=written["batch"],
        wanted=written["workers"],
        rates=tuple((int(size), rate) for size, rate in written["curve"].items()),
        guesses=frozenset(job["guesses"]),
    )


def command(out: Path, time: Json) -> str:
    """The command that replays an export by the rules of the platform, ready to be typed."""
    policy = str(time["policy"])
    others = [name for name in ("elasticflow", "themis") if name != policy]
    # A policy in a file is named by its path, which may lie on another machine.
    policies = others if policy.endswith(".py") else [policy, others[-1]]
    words = [
        *("tenuto", "replay", str(out / TRACE), "--profiles", str(out / PROFILES)),
        *("--cluster", str(out / CLUSTER), "--overhead", str(out / COSTS)),
        *("--slot", f"{time['interval']:g}", "--margin", f"{time['margin']:g}"),
        *("--placement", str(time["placement"]), "--policy", ",".join(policies)),
    ]
    if time["seed"]:
        words += ["--seed", str(time["seed"])]
    if not policy.endswith(".py"):
        for name, value in time["settings"].items():
            words += ["--set", f"{policy}.{name}={value}"]
    return shlex.join(words)


def write_files(export: Export, directory: Path, out: Path) -> None:
    """Write all files into a directory that will be called `out`."""
    write_trace(export.told.workload.trace, directory / TRACE, Form.TENUTO)
    _write_profiles(export.told.workload.profiles, directory / PROFILES)
    _write_cluster(export, directory / CLUSTER)
    time = export.time
    costs = {"start": {"1": time["start_cost"]}, "rescale": {"1": time["rescale_cost"]}}
    _write_text(directory / COSTS, json.dumps(costs) + "\n")
    _write_jobs(export, directory / JOBS)
    about = export.about() | {"command": command(out, time)}
    _write_text(directory / ABOUT, json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _write_profiles(profiles: Profiles, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write("# Written by tenuto history export.\n")
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(OURS)
        for (model, batch), curve in sorted(profiles.curves.items()):
            table.writerows([model, batch, slots, repr(rate)] for slots, rate in sorted(curve.rate.items()))


def _write_cluster(export: Export, path: Path) -> None:
    nodes: list[dict[str, Any]] = [
        {"slots": slots} if export.anonymous else {"slots": slots, "name": name}
        for name, slots in export.time["nodes"].items()
    ]
    _write_text(path, yaml.safe_dump({"nodes": nodes}, allow_unicode=True, sort_keys=False))


def _write_jobs(export: Export, path: Path) -> None:
    """What really became of the jobs, also of those that the trace leaves out; times as in the trace."""
    names = () if export.anonymous else ("name", "owner")

    def seconds(written: str | None) -> str:
        return (
            "" if written is None else f"{datetime.fromisoformat(written).timestamp() - export.told.zero:.3f}"
        )

    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("job_id", *names, *OUTCOME, "guesses", "left_out"))
        for job in export.jobs:
            times = (seconds(job[f"{what}_at"]) for what in ("submitted", "started", "ended"))
            table.writerow(
                (
                    export.ids[job["id"]],
                    *(job[name] for name in names),
                    *(job[name] for name in ("state", "reply", "promise")),
                    *times,
                    job["rescales"],
                    " ".join(job["guesses"]),
                    job["left_out"],
                )
            )
