"""Job files: what they may say, and that every mistake is told with its place."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tenuto.errors import InputInvalid
from tenuto.wire.api import JobIn
from tenuto.wire.job_file import (
    WrittenJob,
    from_command,
    in_local_zone,
    in_order,
    name_of,
    read_jobs,
)
from tenuto.wire.written import read_documents


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, name: str = "job.yaml") -> list[WrittenJob]:
    Path(name).write_text(text, encoding="utf-8")
    return [job.checked() for job in read_jobs(name)]


def only(text: str, name: str = "job.yaml") -> dict[str, Any]:
    [job] = read(text, name)
    return dict(job.values)


def complaint(text: str, name: str = "job.yaml") -> str:
    with pytest.raises(InputInvalid) as caught:
        in_order(read(text, name))
    return str(caught.value)


def test_a_whole_file_is_read(workplace: Path) -> None:
    job = only(
        """
name: 한국어-学习-żółw
run: python train.py
setup: pip install -r requirements.txt
env: {OMP_NUM_THREADS: 2, DEBUG: no, VERSION: 1.10}
workers: 1..8
total: {steps: 1e4}
curve: {1: 3.2, 2: 6}
deadline: +6h
checkpoint: {dir: checkpoints, every: 100}
labels: {team: vision, build: 007}
limits: {memory: 2GiB, cpus: 1.5}
after: {job: prepare, condition: any}
params: {lr: 0.1, layers: [1, 2], deep: {on: true}}
"""
    )

    spec, _ = JobIn.model_validate(job).to_spec(now=0.0)
    assert spec.name == "한국어-学习-żółw"
    assert spec.env == {"OMP_NUM_THREADS": "2", "DEBUG": "no", "VERSION": "1.10"}
    assert spec.labels == {"team": "vision", "build": "007"}
    assert (spec.min_workers, spec.max_workers, spec.steps) == (1, 8, 10_000)
    assert spec.params == {"lr": 0.1, "layers": [1, 2], "deep": {"on": True}}
    assert spec.workdir == str(workplace)


def test_paths_are_seen_from_the_files_directory(workplace: Path) -> None:
    (workplace / "jobs").mkdir()

    job = only("run: a\nworkdir: ../src\nenvironment: .venv\n", "jobs/train.yaml")

    assert job["name"] == "train"
    assert job["workdir"] == str(workplace / "jobs" / ".." / "src")
    assert job["environment"] == str(workplace / "jobs" / ".venv")


def test_a_date_without_a_zone_is_local_time() -> None:
    text = "2030-11-20T18:00"

    assert in_local_zone(text).startswith("2030-11-20T18:00:00")
    assert in_local_zone(text) != text
    assert in_local_zone("2030-11-20T18:00Z") == "2030-11-20T18:00Z"
    assert in_local_zone("+6h") == "+6h"


@pytest.mark.parametrize(
    ("line", "problem", "place"),
    [
        ("workrs: 2", "workrs: there is no such key. Did you mean workers?", "line 7, column 1"),
        ("workers: 8..1", "workers: 8..1 ends before it begins. Write 1..8", "line 7, column 10"),
        (
            "limits: {memry: 3}",
            "limits.memry: there is no such key. Did you mean memory?",
            "line 7, column 10",
        ),
        ("foo: [1, 2", "this is not YAML: expected ',' or ']'", "line 7, column 6"),
        ('foo: "never ended', "this is not YAML: found unexpected end of stream", "line 7, column 6"),
        ("no colon here", "this is not YAML: could not find expected ':'", "line 7, column 1"),
        (
            "\tname: x",
            "this is not YAML: found character '\\t' that cannot start any token",
            "line 7, column 1",
        ),
        ("name: again", "'name' stands here twice. Keep one of the two", "line 7, column 1"),
        ("env: [a, b]", "env: ", "line 7, column 1"),
        ("curve: {1: fast}", "curve: ", "line 7, column"),
    ],
)
def test_a_mistake_on_line_7_is_told_with_line_7(line: str, problem: str, place: str) -> None:
    told = complaint(f"# a job\nname: x\nrun: a\nenv2: 1\n#\n#\n{line}\n".replace("env2: 1\n", "#\n"))

    assert told.startswith(f"job.yaml, {place}"), told
    assert problem in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("# nothing\n---\n", "the file is empty"),
        ("- a\n- b\n", "there is no mapping here"),
        ("just text", "there is no mapping here"),
        ("a: &a [*a]\n", "a value contains itself"),
        ("? [a]\n: b\n", "a key is a list or a mapping"),
        ("<<: 3\nrun: a\n", "<< wants a mapping"),
        ("a: " + "[" * 700, "the brackets are nested too deeply"),
        ("run: !!python/object/apply:os.system [ls]\n", "has no meaning here"),
        ("run: !!binary aGk=\nname: !x y\n", "could not determine a constructor"),
        ("x: \x00", "this is not YAML"),
    ],
)
def test_what_is_no_job_is_refused(text: str, problem: str) -> None:
    assert problem in complaint(text)


def test_a_file_that_is_no_text_or_not_there_is_refused(workplace: Path) -> None:
    (workplace / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    (workplace / "huge.yaml").write_bytes(b"#" * ((1 << 20) + 1))

    for name, problem in (
        ("binary.yaml", "this is no UTF-8 text"),
        ("huge.yaml", "the file is too large for a job file"),
        ("missing.yaml", "the file cannot be read (No such file or directory)"),
    ):
        with pytest.raises(InputInvalid, match=rf"{name}: ") as caught:
            read_jobs(name)
        assert problem in str(caught.value)


def test_anchors_spare_repetition() -> None:
    jobs = read("name: a\nrun: x\nenv: &env {A: 1}\n---\nname: b\nrun: y\nenv: {<<: {A: 1, B: 2}, B: 3}\n")

    assert [job.values["env"] for job in jobs] == [{"A": "1"}, {"A": "1", "B": "3"}]


def test_a_few_lines_that_mean_billions_of_values_are_refused() -> None:
    levels = (f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 12))
    with pytest.raises(InputInvalid, match="more than 100,000 values"):
        read_documents("\n".join(["a0: &a0 [x, x]", *levels]), "job.yaml")


def test_a_number_that_is_far_too_long_is_refused() -> None:
    with pytest.raises(InputInvalid, match="a number of 5000 digits"):
        read_documents(f"workers: {'1' * 5000}", "job.yaml")


def test_several_documents_are_several_jobs_each_behind_the_one_it_waits_for() -> None:
    jobs = in_order(
        read(
            "name: report\nrun: a\nafter: train\n---\nname: train\nrun: b\nafter: {job: prepare}\n"
            "---\nname: prepare\nrun: c\nafter: elsewhere\n---\nname: alone\nrun: d\n"
        )
    )

    assert [job.name for job in jobs] == ["prepare", "train", "report", "alone"]
    assert jobs[1].waiting_for("k7").values["after"] == {"job": "k7"}
    assert jobs[2].waiting_for("k8").values["after"] == "k8"


def test_jobs_that_wait_for_each_other_are_refused() -> None:
    told = complaint("name: a\nrun: a\nafter: b\n---\nname: b\nrun: b\nafter: a\n")

    assert told == (
        "job.yaml, line 3, column 8: the jobs wait for each other: a after b after a. "
        "Leave out one of these after keys"
    )


def test_a_job_that_waits_for_itself_is_refused() -> None:
    assert "the jobs wait for each other: a after a" in complaint("name: a\nrun: a\nafter: a\n")


def test_a_script_says_in_its_head_what_it_needs(workplace: Path) -> None:
    job = only(
        "#!/bin/bash -e\n# my training\n#TENUTO workers: 1..4\n#TENUTO   env: {A: b}\n\n"
        "echo hello\n#TENUTO name: too-late\n",
        "train.sh",
    )

    assert job == {
        "name": "train",
        "workers": "1..4",
        "env": {"A": "b"},
        "run": ["/bin/bash", "-e", str(workplace / "train.sh")],
        "workdir": str(workplace),
    }


def test_a_mistake_in_a_scripts_head_is_told_with_its_place() -> None:
    told = complaint("#!/bin/sh\n#\n#TENUTO   wrkers: 3\nls\n", "train")

    assert told == "train, line 3, column 11: wrkers: there is no such key. Did you mean workers?"


@pytest.mark.parametrize(
    ("name", "text", "run"),
    [
        ("a.py", "print()\n", ["python3"]),
        ("a.py", "#!/usr/bin/env python3.12\nprint()\n", ["/usr/bin/env", "python3.12"]),
        ("a.sh", "ls\n", ["/bin/sh"]),
        ("plain", "#!/opt/x -a -b\n", ["/opt/x", "-a -b"]),
    ],
)
def test_the_first_line_of_a_script_says_what_runs_it(
    workplace: Path, name: str, text: str, run: list[str]
) -> None:
    assert only(text, name)["run"] == [*run, str(workplace / name)]


def test_a_script_that_nobody_can_run_is_refused() -> None:
    assert "the script does not say what runs it" in complaint("#TENUTO name: x\nls\n", "train")
    assert "the script is what is run" in complaint("#!/bin/sh\n#TENUTO run: x\nls\n", "train")


def test_standard_input_holds_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("run: a\n"))

    [job] = read_jobs("-")

    assert job.checked().name == "job"


def test_a_host_file_gives_the_first_allocation(workplace: Path) -> None:
    (workplace / "hosts.sh").write_text("#!/bin/sh\necho node-0:1\necho node-1:2\n")

    [job] = read("run: a\nhosts: hosts.sh\n")

    assert job.hosts == {"node-0": 1, "node-1": 2}
    assert job.values["workers"] == 3
    assert "hosts" not in job.values
    assert "hosts names no file" in complaint("run: a\nhosts: [1]\n")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "-u", "/opt/src/train.py", "--x"], "train"),
        (["./run all.sh"], "run-all"),
        (["sleep", "3"], "sleep"),
        (["/bin/sh", "-c", "ls"], "sh"),
        (["--"], "job"),
    ],
)
def test_a_command_gives_a_job_its_name(command: list[str], name: str) -> None:
    assert name_of(command) == name
    assert from_command(command, {}).checked().name == name


def test_an_error_of_the_servers_gets_the_files_place() -> None:
    [job] = read("name: a\nrun: a\nafter: nobody\n")

    told = job.blamed(InputInvalid("there is no job 'nobody'", remedy="See tenuto ps", field="after.job"))
    elsewhere = job.blamed(InputInvalid("too small", remedy="Say more", field="deadline"))

    assert str(told) == "job.yaml, line 3, column 8: there is no job 'nobody'. See tenuto ps"
    assert str(elsewhere) == "job.yaml: too small. Say more"
