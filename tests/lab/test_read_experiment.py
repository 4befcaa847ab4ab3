"""Experiments from files: what they mean, and what is refused with its line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.lab.experiments import HOLDING, a_policy, a_trace, an_experiment

from tenuto import plugins
from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.experiment import Experiment
from tenuto.lab.folder import CONTENTS, check_experiment, settle_experiment
from tenuto.lab.read_experiment import read_experiment
from tenuto.policy.registry import POLICIES
from tenuto.sim import artifact


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in another directory than the experiment's, with an empty library."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "library"))


def written(directory: Path, text: str) -> Path:
    path = directory / "exp.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def cells(path: Path) -> list[Cell]:
    experiment = read_experiment(path)
    return experiment.cells(experiment.out / "traces")


def refused(path: Path) -> InputInvalid:
    with pytest.raises(InputInvalid) as caught:
        read_experiment(path)
    return caught.value


def test_every_combination_is_a_cell(tmp_path: Path) -> None:
    a_trace(tmp_path / "other.csv")
    path = an_experiment(
        tmp_path / "exp.yaml",
        traces=["few.csv", "other.csv"],
        clusters=["n1g2", "n1g4"],
        policies=["fifo", "edf"],
        parameters={"slot": [60, 240], "margin": 0.1},
        seeds=[1, 2],
    )

    found = cells(path)

    assert len(found) == len(set(found)) == 2 * 2 * 2 * 2 * 2
    assert {cell.margin for cell in found} == {0.1}
    assert {(cell.slot, cell.seed) for cell in found} == {(60.0, 1), (60.0, 2), (240.0, 1), (240.0, 2)}


def test_what_is_left_out_is_as_in_a_replay(tmp_path: Path) -> None:
    assert cells(written(tmp_path, "traces: lab-200\n")) == [Cell(trace="lab-200")]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    a_trace(tmp_path / "data" / "day.csv")
    a_policy(tmp_path / "mine.py", HOLDING)
    (tmp_path / "cost.json").write_text('{"start": {"1": 4}}')
    (tmp_path / "site.yaml").write_text("nodes: [{slots: 4}]\n")
    text = """
        traces: data/day.csv
        clusters: site.yaml
        policies: mine.py
        parameters: {overhead: cost.json}
        out: ../runs
    """

    experiment = read_experiment(written(tmp_path, text))

    [cell] = experiment.cells(experiment.out)
    assert cell == Cell(
        trace=str(tmp_path / "data/day.csv"),
        cluster=str(tmp_path / "site.yaml"),
        policy=str(tmp_path / "mine.py"),
        overhead=str(tmp_path / "cost.json"),
    )
    assert experiment.out == tmp_path / "../runs"
    assert len(check_experiment(experiment).tasks) == 1


def test_results_lie_beside_the_file_under_its_name(tmp_path: Path) -> None:
    assert read_experiment(written(tmp_path, "traces: lab-200\n")).out == tmp_path / "exp"
    assert read_experiment(written(tmp_path, "traces: lab-200\nname: first\n")).out == tmp_path / "first"


def test_each_trace_may_have_clusters_of_its_own(tmp_path: Path) -> None:
    path = an_experiment(
        tmp_path / "exp.yaml",
        traces=["few.csv", "lab-200"],
        clusters={"few": "n1g2", "lab-200": ["n8g8", "n4g8"]},
    )

    assert [cell.cluster for cell in cells(path)] == ["n1g2", "n8g8", "n4g8"]


def test_settings_with_several_values_make_several_cells(tmp_path: Path) -> None:
    text = "traces: lab-200\npolicies:\n- edf\n- tiresias: {first_limit: [1000, 2000]}\n"

    plain, *tuned = cells(written(tmp_path, text))

    assert plain.policy == "edf"
    assert [cell.settings for cell in tuned] == [(("first_limit", 1000.0),), (("first_limit", 2000.0),)]


def test_all_means_every_policy_that_the_semantics_know(tmp_path: Path) -> None:
    text = "traces: lab-200\npolicies: all\nparameters: {compat: [null, artifact]}\n"

    found = cells(written(tmp_path, text))

    assert {cell.policy for cell in found if cell.compat is None} == set(POLICIES)
    assert {cell.policy for cell in found if cell.compat} == set(artifact.POLICIES) & set(POLICIES)


def test_all_goes_without_policies_that_need_missing_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needing = [name for name, policy in POLICIES.items() if policy.requires]
    monkeypatch.setattr(plugins, "find_spec", lambda _: None)

    experiment = read_experiment(written(tmp_path, "traces: lab-200\npolicies: all\n"))

    assert {policy.name for policy in experiment.policies} == set(POLICIES) - set(needing)
    assert len(experiment.remarks) == len(needing)
    assert all("tenuto[lab]" in remark for remark in experiment.remarks)
    for name in needing:
        error = refused(written(tmp_path, f"traces: lab-200\npolicies: {name}\n"))
        assert "pip install 'tenuto[lab]'" in error.remedy


GENERATE = "traces:\n- generate: {jobs: 5, interarrival: 600, seed: [1, 2], max_slots: 2}\nclusters: n1g2\n"


def checked(experiment: Experiment) -> list[str]:
    return [task.folder.name for task in check_experiment(experiment).tasks]


def settled(experiment: Experiment) -> list[str]:
    return [task.folder.name for task in settle_experiment(experiment, check_experiment(experiment)).tasks]


def test_traces_are_drawn_as_wished_and_written_once(tmp_path: Path) -> None:
    experiment = read_experiment(written(tmp_path, GENERATE))

    planned = checked(experiment)
    assert not experiment.out.exists()
    assert settled(experiment) == planned

    files = sorted((experiment.out / "traces").iterdir())
    assert [file.name for file in files] == ["generated-5-seed-1.csv", "generated-5-seed-2.csv"]
    before = [file.read_bytes() for file in files]
    assert len(set(before)) == 2
    assert settled(read_experiment(written(tmp_path, GENERATE))) == planned
    assert [file.read_bytes() for file in files] == before


def test_nothing_is_written_before_all_input_is_checked(tmp_path: Path) -> None:
    experiment = read_experiment(written(tmp_path, GENERATE + "parameters: {overhead: dear}\n"))

    with pytest.raises(InputInvalid, match="dear"):
        check_experiment(experiment)

    assert not experiment.out.exists()


MISTAKES = {
    "a key": ("traces: lab-200\npolices: all\n", 2, "polices", "Did you mean policies?"),
    "a parameter": (
        "traces: lab-200\nparameters:\n  slot: 60\n  marjin: 0.1\n", 4, "marjin", "Did you mean margin?"
    ),
    "a trace": ("traces:\n- lab-200\n- lab-20\n", 3, "lab-20", "Did you mean lab-200?"),
    "no trace": ("traces:\n- {}\n", 2, "no trace", "generate"),
    "no policies": ("traces: lab-200\npolicies: {}\n", 2, "no policies", "elasticflow"),
    "a file": ("traces:\n- no/where.csv\n", 2, "where.csv", "path of a file"),
    "a policy": ("traces: lab-200\npolicies: [edf,\n  fifoo]\n", 3, "fifoo", "Did you mean fifo?"),
    "a setting": (
        "traces: lab-200\npolicies:\n- tiresias:\n    first_limt: 3\n", 3, "first_limt", "first_limit"
    ),
    "a setting's value": ("traces: lab-200\npolicies:\n- tiresias: {first_limit: no}\n", 3, "False", "number"),
    "a cluster": ("traces: lab-200\nclusters: n8g\n", 2, "n8g", "Did you mean n8g8?"),
    "a cluster's trace": ("traces: lab-200\nclusters: {lab-201: n8g8}\n", 2, "lab-201", "Did you mean lab-200?"),
    "no cluster": ("traces: [lab-200]\nclusters: {}\n", 2, "lab-200", "lab-200: n16g8"),
    "a placement": ("traces: lab-200\nparameters: {placement: budy}\n", 2, "budy", "Did you mean buddy?"),
    "semantics": ("traces: lab-200\nparameters: {compat: artefact}\n", 2, "artefact", "Did you mean artifact?"),
    "a number": ("traces: lab-200\nparameters: {slot: fast}\n", 2, "fast", "number of 0 or more"),
    "a seed": ("traces: lab-200\nseeds: [1, -1]\n", 2, "-1", "whole number"),
    "an empty list": ("traces: lab-200\npolicies: []\n", 2, "empty", "at least one"),
    "a key twice": ("traces: lab-200\nseeds: 1\nseeds: 2\n", 3, "seeds", "Keep one"),
    "a trace twice": ("traces: [lab-200,\n  lab-200]\n", 2, "lab-200", "Rename"),
    "no traces": ("policies: all\n", 1, "no traces", "traces: [lab-200]"),
    "no mapping": ("- traces\n", 1, "a list is no mapping", "traces"),
    "no YAML": ("traces: [lab-200\npolicies: all\n", 2, "YAML", "brackets"),
    "itself": ("traces: &a [*a]\n", 1, "itself", "Write it out"),
    "a generator's key": ("traces:\n- generate: {jobs: 5, interarival: 9}\n", 2, "interarival", "interarrival"),
    "a generator's need": ("traces:\n- generate: {jobs: 5}\n", 2, "needs interarrival", "interarrival: 900"),
    "a generator's number": (
        "traces:\n- generate: {jobs: 0, interarrival: 1}\n", 2, "0 jobs make no trace", "--jobs"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "line", "problem", "remedy"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_told_with_its_line_and_a_remedy(
    tmp_path: Path, text: str, line: int, problem: str, remedy: str
) -> None:
    path = written(tmp_path, text)

    error = refused(path)

    assert problem in error.problem
    assert remedy in error.remedy
    assert error.place is not None
    assert (error.place.file, error.place.line) == (str(path), line)


def test_an_empty_file_is_no_experiment(tmp_path: Path) -> None:
    assert "empty" in refused(written(tmp_path, "# nothing yet\n")).problem


def test_the_contents_name_the_cells_in_the_order_of_the_experiment(tmp_path: Path) -> None:
    experiment = read_experiment(an_experiment(tmp_path / "exp.yaml", policies=["fifo", "edf"]))
    experiment.out.mkdir()

    settle_experiment(experiment, check_experiment(experiment))

    noted = json.loads((experiment.out / CONTENTS).read_text(encoding="utf-8"))
    assert noted["name"] == "exp"
    assert [name.rpartition("-")[0] for name in noted["cells"]] == ["few-n1g2-fifo", "few-n1g2-edf"]
