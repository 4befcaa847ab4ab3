"""The files of a replay: ours, and those that the reference writes, so that its scripts can read them."""

from __future__ import annotations

import csv
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType

import numba
import numpy as np

import tenuto
from tenuto.errors import InputInvalid, Place
from tenuto.model.columns import Ints
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary
from tenuto.sim.whole_file import whole_file
from tenuto.sim.workload import Workload

NEVER = 2**63 - 1
"""The reference's deadline of jobs without one."""

MANIFEST = "manifest.json"
"""Stands only where everything else was written to the end."""
LAYOUTS, NODES = "scheduling_events.csv", "cluster.csv"


def write_results(
    directory: Path,
    workload: Workload,
    outcome: Outcome,
    summary: Summary,
    arguments: Mapping[str, object],
    *,
    inputs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write everything about one replay into a directory of its own; the manifest comes last.

    `arguments` are the options and seeds it was run with, `inputs` the SHA-256 of what it read.
    """
    _make(directory)
    for outdated in (MANIFEST, LAYOUTS, NODES):
        (directory / outdated).unlink(missing_ok=True)
    _write_jobs(directory / "jobs.csv", workload, outcome)
    _write_events(directory / "events.csv", outcome)
    _write_reference_jobs(directory / "job.csv", workload, outcome)
    _write_reference_result(directory / "final_result.csv", workload, summary, arguments)
    if outcome.events.layouts is not None:
        _write_layouts(directory / LAYOUTS, workload, outcome, outcome.events.layouts)
        _write_nodes(directory / NODES, workload, outcome, outcome.events.layouts)
    manifest = {
        "tenuto": tenuto.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": numba.__version__,
        "arguments": dict(arguments),
        "inputs": dict(inputs),
        "summary": asdict(summary),
    }
    with whole_file(directory / MANIFEST) as stream:
        stream.write(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def _make(directory: Path) -> None:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputInvalid(
            f"the directory cannot be made ({error.strerror})",
            remedy="Choose a directory in which you may write and which has room",
            place=Place(str(directory)),
        ) from None


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with whole_file(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def _number(value: float) -> object:
    """Whole numbers without a fraction, what never came as nothing."""
    if np.isnan(value) or np.isinf(value):
        return ""
    return int(value) if value == int(value) else value


def _write_jobs(path: Path, workload: Workload, outcome: Outcome) -> None:
    trace = workload.trace
    header = [
        "job_id", "submitted", "deadline", "best_effort", "admitted", "reason", "promised",
        "started", "finished", "met", "last_slots", "changes", "preempted"
    ]  # fmt: skip
    rows = (
        (
            trace.ids[i],
            _number(trace.submitted[i]),
            _number(trace.deadline[i]),
            int(trace.best_effort[i]),
            int(outcome.admitted[i]),
            outcome.reason[i],
            _number(outcome.promised[i]),
            _number(outcome.started[i]),
            _number(outcome.finished[i]),
            int(outcome.met[i]),
            int(outcome.last_size[i]),
            int(outcome.changes[i]),
            int(outcome.preempted[i]),
        )
        for i in range(len(trace))
    )
    _write(path, header, rows)


def _write_events(path: Path, outcome: Outcome) -> None:
    events = outcome.events
    columns = (events.time, events.efficiency, events.busy, events.running, events.waiting)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    _write(path, ("time", "efficiency", "busy_slots", "running", "waiting"), rows)


def _write_reference_jobs(path: Path, workload: Workload, outcome: Outcome) -> None:
    trace = workload.trace
    header = [
        "time", "job_id", "num_gpu", "submit_time", "start_time", "end_time", "ddl",
        "executed_time", "JCT", "pending_time", "preempt", "promote", "best_effort_job"
    ]  # fmt: skip
    done = np.flatnonzero(~np.isnan(outcome.finished))
    rows = []
    for i in done[np.argsort(outcome.finished[done], kind="stable")].tolist():
        submitted, started, finished = trace.submitted[i], outcome.started[i], outcome.finished[i]
        deadline = NEVER if trace.best_effort[i] else _number(trace.deadline[i])
        rows.append(
            (
                _number(finished),
                trace.ids[i],
                int(outcome.last_size[i]),
                _number(submitted),
                _number(started),
                _number(finished),
                deadline,
                _number(finished - started),
                int(finished - submitted),
                _number(started - submitted),
                int(outcome.preempted[i]),
                0,
                int(trace.best_effort[i]),
            )
        )
    _write(path, header, rows)


def _write_reference_result(
    path: Path, workload: Workload, summary: Summary, arguments: Mapping[str, object]
) -> None:
    header = ("time", "ddl_satis_ratio", "cluster_spec", "trace_file", "scheduler", "scheme")
    ratio = "" if summary.ratio is None else summary.ratio
    row = (
        round(summary.cpu_s, 3),
        ratio,
        summary.cluster,
        workload.trace.source,
        summary.policy,
        arguments.get("placement", ""),
    )
    _write(path, header, [row])


def _write_layouts(path: Path, workload: Workload, outcome: Outcome, layouts: tuple[Ints, ...]) -> None:
    cluster, events = workload.cluster, outcome.events
    cells = [
        f"gpu{node}-{slot}" for node, slots in enumerate(cluster.slots.tolist()) for slot in range(slots)
    ]
    rows = (
        [_number(time), *("" if job < 0 else job for job in layout.tolist()), efficiency]
        for time, layout, efficiency in zip(
            events.time.tolist(), layouts, events.efficiency.tolist(), strict=True
        )
    )
    _write(path, ["time", *cells, "ce"], rows)


def _write_nodes(path: Path, workload: Workload, outcome: Outcome, layouts: tuple[Ints, ...]) -> None:
    header = [
        "time", "idle_node", "busy_node", "full_node", "idle_gpu", "busy_gpu", "pending_job",
        "running_job", "completed_job"
    ]  # fmt: skip
    cluster, events = workload.cluster, outcome.events
    ends = np.sort(outcome.finished[~np.isnan(outcome.finished)])
    rows = []
    for k, layout in enumerate(layouts):
        busy = np.bincount(cluster.node_of_slot, weights=layout >= 0, minlength=len(cluster.slots))
        time, used = float(events.time[k]), int(busy.sum())
        rows.append(
            (
                _number(time),
                int(np.count_nonzero(busy == 0)),
                int(np.count_nonzero(busy > 0)),
                int(np.count_nonzero(busy == cluster.slots)),
                cluster.total - used,
                used,
                int(events.waiting[k]),
                int(events.running[k]),
                int(np.searchsorted(ends, time, side="right")),
            )
        )
    _write(path, header, rows)
