"""`tenuto workloads`: what there is, and job files for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.errors import InputInvalid
from tenuto.workloads.registry import WORKLOADS


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ("workloads", *arguments))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_table_names_all_of_them() -> None:
    assert WORKLOADS.keys() <= set(run().split())


def test_programs_get_all_of_them_as_json() -> None:
    assert [row["name"] for row in json.loads(run("--json"))] == list(WORKLOADS)


def test_a_job_file_trains_as_many_steps_as_asked() -> None:
    job = json.loads(run("gpt2", "--steps", "7", "--json"))

    assert job["total"] == {"steps": 7}
    assert job["module"] == "tenuto.workloads.train gpt2 --steps 7 --batch 128"


def test_missing_data_is_an_error_before_there_is_a_job(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ("workloads", "gpt2", "--data", str(tmp_path / "nowhere")))

    assert isinstance(result.exception, InputInvalid)
    assert result.stdout == ""


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_job_file_can_be_read(name: str, tmp_path: Path) -> None:
    from tenuto.wire.job_file import read_jobs

    (tmp_path / "job.yaml").write_text(run(name), encoding="utf-8")

    [job] = read_jobs(str(tmp_path / "job.yaml"))
    assert job.checked().name == name
