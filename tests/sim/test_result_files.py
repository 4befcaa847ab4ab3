"""The files of a replay: what stands in them, and that the reference's scripts could read them."""

from __future__ import annotations

import csv
import json
import platform
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from tests.builders import a_job, a_workload

import tenuto
from tenuto.model.cost import Cost
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.policy.elasticflow import ELASTICFLOW
from tenuto.policy.fifo import FIFO
from tenuto.sim.loop import simulate
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary, summarise
from tenuto.sim.result_files import NEVER, write_results
from tenuto.sim.workload import Workload

Rows = list[dict[str, str]]

PLAIN = a_workload(
    jobs=[
        a_job(arrived=0, left=80, deadline=100, size=2),
        a_job(arrived=5, left=9000, deadline=20, size=2),
        a_job(arrived=7.5, left=40, deadline=60, size=4),
        a_job(arrived=10, left=30, size=1),
    ],
    nodes=(4, 2),
)
ARGUMENTS: dict[str, object] = {"cluster": "n2g2", "placement": "buddy", "seed": 3}


def named(workload: Workload, *ids: str) -> Workload:
    return replace(workload, trace=replace(workload.trace, name="größe", source="日/größe.csv", ids=ids))


JOBS = named(PLAIN, "ä", "job, the second", "третья", "4")


def run(policy: Policy, *, layouts: bool = True) -> tuple[Outcome, Summary]:
    cost = Cost.by_size(JOBS.sizes, lambda _: 1.0)
    outcome = simulate(JOBS, policy, cost=cost, rules=Rules(margin=0.0), layouts=layouts)
    return outcome, summarise(JOBS, outcome, policy=policy.name, slot=60.0, compat=None)


@pytest.fixture(params=[ELASTICFLOW, FIFO], ids=lambda policy: policy.name)
def replay(request: pytest.FixtureRequest) -> tuple[Outcome, Summary]:
    return run(request.param)


@pytest.fixture
def written(replay: tuple[Outcome, Summary], tmp_path: Path) -> Path:
    directory = tmp_path / "größe" / "policy"
    write_results(directory, JOBS, *replay, ARGUMENTS)
    return directory


def header(path: Path) -> str:
    return path.read_text(encoding="utf-8").splitlines()[0]


def rows(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_references_headers_are_kept_to_the_letter(written: Path) -> None:
    assert header(written / "job.csv") == (
        "time,job_id,num_gpu,submit_time,start_time,end_time,ddl,executed_time,JCT,pending_time,preempt,"
        "promote,best_effort_job"
    )
    assert header(written / "cluster.csv") == (
        "time,idle_node,busy_node,full_node,idle_gpu,busy_gpu,pending_job,running_job,completed_job"
    )
    assert header(written / "scheduling_events.csv") == "time,gpu0-0,gpu0-1,gpu0-2,gpu0-3,gpu1-0,gpu1-1,ce"
    assert header(written / "final_result.csv") == (
        "time,ddl_satis_ratio,cluster_spec,trace_file,scheduler,scheme"
    )


def test_the_occupied_cells_of_a_row_are_its_busy_gpus(written: Path) -> None:
    layouts, nodes, events = (
        rows(written / name) for name in ("scheduling_events.csv", "cluster.csv", "events.csv")
    )
    busy = [sum(bool(cell) for name, cell in row.items() if name.startswith("gpu")) for row in layouts]

    assert max(busy) > 0
    assert busy == [int(row["busy_gpu"]) for row in nodes] == [int(row["busy_slots"]) for row in events]
    assert all(int(row["busy_gpu"]) + int(row["idle_gpu"]) == 6 for row in nodes)
    assert all(int(row["busy_node"]) + int(row["idle_node"]) == 2 for row in nodes)


def test_a_node_is_full_only_if_all_its_slots_are_taken(written: Path) -> None:
    layouts, nodes = rows(written / "scheduling_events.csv"), rows(written / "cluster.csv")
    for layout, row in zip(layouts, nodes, strict=True):
        first = all(layout[f"gpu0-{slot}"] for slot in range(4))
        second = all(layout[f"gpu1-{slot}"] for slot in range(2))
        assert int(row["full_node"]) == first + second


def test_the_layout_names_jobs_by_their_place_in_the_file(written: Path) -> None:
    first = rows(written / "scheduling_events.csv")[0]

    assert {cell for name, cell in first.items() if name.startswith("gpu")} <= {"0", ""}
    assert "0" in first.values()


def test_the_last_row_counts_every_finished_job(written: Path) -> None:
    assert int(rows(written / "cluster.csv")[-1]["completed_job"]) == len(rows(written / "job.csv"))


def test_the_ratio_follows_from_the_jobs(written: Path) -> None:
    jobs = [row for row in rows(written / "jobs.csv") if row["best_effort"] == "0"]
    met = [row for row in jobs if row["finished"] and float(row["finished"]) <= float(row["deadline"])]
    reference = [row for row in rows(written / "job.csv") if float(row["end_time"]) <= float(row["ddl"])]

    assert [row["met"] for row in jobs].count("1") == len(met)
    assert [row["best_effort_job"] for row in reference].count("0") == len(met)
    [result] = rows(written / "final_result.csv")
    assert float(result["ddl_satis_ratio"]) == pytest.approx(len(met) / len(jobs))


def test_the_final_result_says_what_was_replayed(written: Path, replay: tuple[Outcome, Summary]) -> None:
    [result] = rows(written / "final_result.csv")

    assert (result["cluster_spec"], result["trace_file"]) == ("test", "日/größe.csv")
    assert (result["scheduler"], result["scheme"]) == (replay[1].policy, "buddy")


def test_finished_jobs_stand_in_the_order_of_their_end(
    written: Path, replay: tuple[Outcome, Summary]
) -> None:
    finished = rows(written / "job.csv")
    ends = [float(row["end_time"]) for row in finished]

    assert ends == sorted(ends)
    assert len(ends) == np.count_nonzero(~np.isnan(replay[0].finished))
    for row in finished:
        submitted, started, ended = (float(row[name]) for name in ("submit_time", "start_time", "end_time"))
        assert float(row["pending_time"]) == pytest.approx(started - submitted)
        assert float(row["executed_time"]) == pytest.approx(ended - started)
        assert int(row["JCT"]) == int(ended - submitted)


def test_a_job_without_a_deadline_has_the_references_largest_number(written: Path) -> None:
    [row] = [row for row in rows(written / "job.csv") if row["job_id"] == "4"]

    assert (row["ddl"], row["best_effort_job"]) == (str(NEVER), "1")


def test_every_job_has_a_row_with_its_id_as_it_was_written(written: Path) -> None:
    jobs = rows(written / "jobs.csv")

    assert tuple(row["job_id"] for row in jobs) == JOBS.trace.ids
    assert jobs[2]["submitted"] == "7.5"
    assert jobs[3]["deadline"] == ""


def test_a_refused_job_says_why_and_never_started(tmp_path: Path) -> None:
    write_results(tmp_path, JOBS, *run(ELASTICFLOW), ARGUMENTS)

    second = rows(tmp_path / "jobs.csv")[1]
    assert (second["admitted"], second["reason"]) == ("0", "deadline_infeasible")
    assert (second["started"], second["finished"], second["met"]) == ("", "", "0")


def test_the_manifest_says_how_it_came_about(written: Path, replay: tuple[Outcome, Summary]) -> None:
    text = (written / "manifest.json").read_text(encoding="utf-8")
    manifest = json.loads(text)

    assert manifest["tenuto"] == tenuto.__version__
    assert (manifest["python"], manifest["numpy"]) == (platform.python_version(), np.__version__)
    assert manifest["arguments"] == ARGUMENTS
    assert manifest["summary"] == asdict(replay[1])
    assert "größe" in text


def test_without_layouts_there_are_no_layout_files(tmp_path: Path) -> None:
    write_results(tmp_path, JOBS, *run(FIFO, layouts=False), ARGUMENTS)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "events.csv", "final_result.csv", "job.csv", "jobs.csv", "manifest.json",
    ]  # fmt: skip


def test_a_second_replay_leaves_nothing_of_the_first(tmp_path: Path) -> None:
    write_results(tmp_path, JOBS, *run(ELASTICFLOW, layouts=True), ARGUMENTS)
    write_results(tmp_path, JOBS, *run(FIFO, layouts=False), ARGUMENTS)

    assert not (tmp_path / "scheduling_events.csv").exists()
    assert not (tmp_path / "cluster.csv").exists()
    assert json.loads((tmp_path / "manifest.json").read_text())["summary"]["policy"] == "fifo"


def test_results_that_were_not_written_to_the_end_have_no_manifest(tmp_path: Path) -> None:
    write_results(tmp_path, JOBS, *run(FIFO), ARGUMENTS)
    outcome, summary = run(ELASTICFLOW)
    broken = replace(outcome, events=replace(outcome.events, busy=outcome.events.busy[:1]))

    with pytest.raises(ValueError, match="zip"):
        write_results(tmp_path, JOBS, broken, summary, ARGUMENTS)

    assert not (tmp_path / "manifest.json").exists()
    assert not list(tmp_path.glob(".*"))


def test_a_replay_without_deadlines_leaves_the_ratio_empty(tmp_path: Path) -> None:
    outcome, summary = run(FIFO)
    write_results(tmp_path, JOBS, outcome, replace(summary, ratio=None), {})

    [result] = rows(tmp_path / "final_result.csv")
    assert (result["ddl_satis_ratio"], result["scheme"]) == ("", "")
