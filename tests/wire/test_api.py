"""A job as it is submitted: several ways to write the same, and problems that name their place."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
from pydantic import ValidationError

from tenuto.errors import InputInvalid
from tenuto.model.job import Checkpoint, Condition, Retry
from tenuto.wire.api import JobIn
from tenuto.wire.problems import problems_in, validated
from tenuto.wire.spec_form import form_of


def spec(**fields: Any) -> Any:
    return validated(JobIn, {"name": "trening", "run": "python train.py", **fields}).spec()


def test_short_and_long_forms_mean_the_same() -> None:
    assert spec(workers=3) == spec(workers="3") == spec(workers={"min": 3, "max": 3})
    assert spec(workers="1..4") == spec(workers={"max": 4})
    assert spec(total=5) == spec(total={"steps": 5})
    assert spec(after="x") == spec(after={"job": "x"}) == spec(after={"job": "x", "condition": "ok"})
    assert spec(retry=2).retry == Retry(failures=2)
    assert spec(checkpoint="/c").checkpoint == Checkpoint(dir="/c")
    assert spec(urgent=True) == spec(priority="urgent")
    assert spec(curve={1: 2}) == spec(curve={"1": 2.0})
    assert spec(after={"job": "x", "condition": "fail"}).after.condition is Condition.FAIL


def test_there_are_two_strategies_and_whoever_names_another_is_told_both() -> None:
    assert spec().strategy == "command"
    assert not spec().in_place
    assert spec(strategy="allreduce").in_place

    with pytest.raises(InputInvalid) as refused:
        spec(strategy="all-reduce")
    assert refused.value.field == "strategy"
    assert "command" in refused.value.remedy
    assert "allreduce" in refused.value.remedy


def test_a_job_that_rescales_in_place_has_workers_only() -> None:
    with pytest.raises(InputInvalid) as refused:
        spec(strategy="allreduce", roles={"ps": {}})

    assert refused.value.field == "roles"


def test_a_date_that_a_yaml_reader_understood_is_a_date() -> None:
    then = dt.datetime(2030, 1, 1, 12, tzinfo=dt.UTC)

    job = validated(
        JobIn, {"name": "a", "run": "b", "deadline": then, "curve": {1: 1.0}, "total": {"steps": 1}}
    )

    assert job.to_spec(then.timestamp() - 60)[1] == then.timestamp()


@pytest.mark.parametrize("name", ["학습 1", "训练_2", "żółw.3-a", "हिन्दी", "é", "e\u0301", "7"])
def test_names_are_taken_in_every_script(name: str) -> None:
    validated(JobIn, {"name": name, "run": "b"})


def test_accents_are_kept_in_one_form() -> None:
    assert spec(name="e\u0301").name == "é"


@pytest.mark.parametrize("name", ["", " a", "a ", "-a", "a/b", "a\n", "a\0", "😀", "a:b", "x" * 101])
def test_other_names_are_not(name: str) -> None:
    with pytest.raises(InputInvalid):
        validated(JobIn, {"name": name, "run": "b"})


def test_problems_name_the_path_to_their_place() -> None:
    bad = {
        "name": "a",
        "run": "b",
        "roles": {"ps": {"limits": {"memroy": 1}}},
        "workers": {"min": 0, "max": 2},
    }

    with pytest.raises(ValidationError) as error:
        JobIn.model_validate(bad)
    found = {problem.path: problem for problem in problems_in(error.value.errors(), JobIn)}

    assert set(found) == {("workers", "min"), ("roles", "ps", "limits", "memroy")}
    assert found["roles", "ps", "limits", "memroy"].remedy == "Did you mean memory?"


def test_the_description_for_programs_knows_the_short_forms() -> None:
    described = JobIn.model_json_schema()["properties"]

    kinds = {kind.get("type") for kind in described["workers"]["anyOf"]}
    assert {"integer", "string"} <= kinds
    assert described["priority"]["anyOf"][0]["enum"] == ["normal", "urgent"]


@pytest.mark.parametrize("key", ["gpus", "need_gpus"])
def test_no_gpus_are_none_by_either_name(key: str) -> None:
    job = JobIn.model_validate({"name": "정리", "run": "python tidy.py", "workers": 2, key: 0})

    assert (job.spec().cpu_only, job.spec().min_workers) == (True, 2)
    assert form_of(job.spec())["gpus"] == 0


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"gpus": 4}, "gpus: a worker cannot have 4 GPUs. Each has one slot: write workers: 4"),
        ({"gpus": 0, "deadline": "+1h", "total": 5}, "deadline: nothing is promised to a job without GPUs"),
        ({"gpus": 0, "workers": "1..2"}, "workers: a job without GPUs has a fixed size. Give one number"),
        ({"gpus": 0, "strategy": "allreduce"}, "strategy: without GPUs there is one strategy"),
        ({"gpus": 0, "share": True}, "share: a job without GPUs has no slot to share"),
        ({"gpus": 0, "curve": "auto"}, "curve: the curve of a job without GPUs is not measured"),
        ({"gpus": True}, "gpus: true is not a whole number"),
    ],
)
def test_what_a_job_without_gpus_cannot_have_is_refused(asked: dict[str, Any], told: str) -> None:
    with pytest.raises(InputInvalid, match=re.escape(told)):
        validated(JobIn, {"name": "정리", "run": "python tidy.py", **asked})
