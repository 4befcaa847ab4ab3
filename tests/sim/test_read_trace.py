"""Traces from files: every published header loads; whatever is wrong is named with its place and a remedy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from tests.sim.trace_columns import columns_of

from tenuto.errors import InputInvalid
from tenuto.sim.read_trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

GENERATED = "job_id,submit_time,iteration,model_name,ddl,batch_size,num_gpu,duration,best_effort"
PUBLISHED = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"
OURS = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"

HEADERS = {"generated": GENERATED, "published": PUBLISHED, "ours": OURS}


def a_file(directory: Path, text: str, name: str = "trace.csv") -> Path:
    file = directory / name
    file.write_bytes(text.encode("utf-8"))
    return file


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_every_header_means_the_same(tmp_path: Path, header: str) -> None:
    row = "a,10,500,bert,90,64,2,40" + (",0" if header.endswith("best_effort") else "")

    trace = read_trace(a_file(tmp_path, f"{header}\n{row}\n"))

    assert columns_of(trace) == {
        "ids": ("a",),
        "models": ("bert",),
        "batch": [64],
        "submitted": [10.0],
        "steps": [500.0],
        "deadline": [90.0],
        "best_effort": [False],
        "requested": [2],
        "duration": [40.0],
        "position": [0],
    }


def test_columns_may_stand_in_any_order_among_others(tmp_path: Path) -> None:
    text = (
        "duration,comment,num_gpu,batch_size,ddl,model_name,real_iteration,iteration,submit_time,job_id\n"
        '40,"one, two",2,64,90,bert,7,500,10,a\n'
    )

    trace = read_trace(a_file(tmp_path, text))

    assert (trace.ids, trace.steps.tolist(), trace.deadline.tolist()) == (("a",), [500.0], [90.0])


def test_of_two_spellings_the_reference_decides_which_counts(tmp_path: Path) -> None:
    both = "submit_time,submission_time,num_iteration,iteration,ddl,deadline"
    text = f"job_id,{both},model_name,batch_size,num_gpu,duration\na,1,2,30,40,500,600,bert,64,1,100\n"

    trace = read_trace(a_file(tmp_path, text))

    assert (trace.submitted[0], trace.steps[0], trace.deadline[0]) == (2, 40, 600)


def test_jobs_are_sorted_by_submission_and_keep_their_place_in_the_file(tmp_path: Path) -> None:
    rows = ["late,9,5,bert,99,64,1,7,0", "", "tie-1,3,5,bert,99,64,1,7,0", "tie-2,3,5,bert,99,64,1,7,0"]

    trace = read_trace(a_file(tmp_path, "\n".join([GENERATED, *rows])))

    assert trace.ids == ("tie-1", "tie-2", "late")
    assert trace.position.tolist() == [1, 2, 0]
    assert trace.line.tolist() == [4, 5, 2]


def test_columns_are_read_only(tmp_path: Path) -> None:
    trace = read_trace(a_file(tmp_path, f"{GENERATED}\na,0,5,bert,99,64,1,7,0\n"))

    with pytest.raises(ValueError, match="read-only"):
        trace.submitted[0] = 1


def test_a_txt_file_is_separated_by_blanks(tmp_path: Path) -> None:
    text = f"{GENERATED}\na,0,5,bert,99,64,1,7,0\n".replace(",", " ")

    assert read_trace(a_file(tmp_path, text, "trace.txt")).ids == ("a",)


def test_ids_paths_and_models_are_unicode(tmp_path: Path) -> None:
    text = f"\ufeff{OURS}\r\naufgabe-ü-任务-🚂,0,5,模型,99,64,1,7,0\r\n"

    trace = read_trace(a_file(tmp_path, text, "spur-轨迹.csv"))

    assert trace.name == "spur-轨迹"
    assert (trace.ids, trace.models) == (("aufgabe-ü-任务-🚂",), ("模型",))


def test_a_marked_job_has_no_deadline_whatever_the_file_says(tmp_path: Path) -> None:
    trace = read_trace(a_file(tmp_path, f"{GENERATED}\na,50,5,bert,9,64,1,7,1\n"))

    assert trace.best_effort.tolist() == [True]
    assert trace.deadline.tolist() == [math.inf]


@pytest.mark.parametrize("mark", ["1", ""])
def test_an_empty_deadline_means_best_effort(tmp_path: Path, mark: str) -> None:
    trace = read_trace(a_file(tmp_path, f"{OURS}\na,50,5,bert,,64,1,7,{mark}\n"))

    assert trace.best_effort.tolist() == [True]


def test_a_job_without_mark_must_keep_its_deadline(tmp_path: Path) -> None:
    trace = read_trace(a_file(tmp_path, f"{OURS}\na,50,5,bert,60.5,64,1,7,\n"))

    assert (trace.best_effort.tolist(), trace.deadline.tolist()) == ([False], [60.5])


def row(**fields: str) -> str:
    """One line of a generated trace below its header, with some fields spoilt."""
    good = {
        "job_id": "a",
        "submit_time": "10",
        "iteration": "500",
        "model_name": "bert",
        "ddl": "90",
        "batch_size": "64",
        "num_gpu": "2",
        "duration": "40",
        "best_effort": "0",
    }
    return f"{GENERATED}\nfirst,0,5,bert,99,64,1,7,0\n\n{','.join((good | fields).values())}\n"


BAD = {
    "empty file": ("", None, None, "header line"),
    "only blank lines": ("\n \n\n", None, None, "header line"),
    "only a header": (f"{GENERATED}\n", 1, None, "at least one row"),
    "missing column": (
        GENERATED.replace(",ddl", "") + "\na,10,500,bert,64,2,40,0\n",
        1,
        "deadline",
        "or ddl",
    ),
    "column twice": (f"{GENERATED},ddl\na,10,500,bert,90,64,2,40,0,90\n", 1, "ddl", "Keep one"),
    "too few fields": (f"{GENERATED}\na,10,500,bert,90,64,2\n", 2, "duration", "one field per column"),
    "too many fields": (
        f"{GENERATED}\na,10,500,bert,90,64,2,40,0,1\n",
        2,
        "best_effort",
        "one field per column",
    ),
    "no id": (row(job_id=""), 4, "job_id", "an id of its own"),
    "id taken": (row(job_id="first"), 4, "job_id", "an id of its own"),
    "id on two lines": (row(job_id='"a\nb"'), 5, "job_id", "on one line"),
    "no model": (row(model_name=" "), 4, "model_name", "as in the profiles"),
    "negative submission": (row(submit_time="-1"), 4, "submit_time", "0 or more"),
    "broken submission": (row(submit_time="1o"), 4, "submit_time", "plain number"),
    "no steps": (row(iteration="0"), 4, "iteration", "above 0"),
    "negative steps": (row(iteration="-5"), 4, "iteration", "above 0"),
    "underscore": (row(iteration="1_000"), 4, "iteration", "plain number"),
    "foreign digits": (row(iteration="٣"), 4, "iteration", "plain number"),
    "no duration": (row(duration="0"), 4, "duration", "above 0"),
    "empty duration": (row(duration=""), 4, "duration", "plain number"),
    "nan duration": (row(duration="nan"), 4, "duration", "plain number"),
    "endless duration": (row(duration="1e999"), 4, "duration", "plain number"),
    "no batch": (row(batch_size="0"), 4, "batch_size", "1, 2 or 64"),
    "half a batch": (row(batch_size="0.5"), 4, "batch_size", "1, 2 or 64"),
    "no slots": (row(num_gpu="0"), 4, "num_gpu", "1, 2 or 64"),
    "negative slots": (row(num_gpu="-2"), 4, "num_gpu", "1, 2 or 64"),
    "too many slots to count": (row(num_gpu="1e30"), 4, "num_gpu", "1, 2 or 64"),
    "deadline at submission": (row(ddl="10"), 4, "ddl", "must be done"),
    "deadline missing": (row(ddl=""), 4, "ddl", "plain number"),
    "strange mark": (row(best_effort="yes"), 4, "best_effort", "1 for a best-effort job"),
    "open quotation mark": (row(job_id='"a'), 4, None, "Close every quotation mark"),
    "raw log": (
        "job_id,submission_time,duration,num_gpu\na,1,2,3\n",
        1,
        "model_name",
        "tenuto trace convert",
    ),
    "older raw log": (
        "job_id,submit_time,gpus,duration,status\na,1,2,3,Pass\n",
        1,
        "model_name",
        "trace convert",
    ),
}


@pytest.mark.parametrize(("text", "line", "column", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, line: int | None, column: str | None, remedy: str
) -> None:
    file = a_file(tmp_path, text)

    with pytest.raises(InputInvalid) as caught:
        read_trace(file)

    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column) == (str(file), line, column)
    assert remedy in caught.value.remedy
    assert str(caught.value).startswith(str(place))


def test_a_file_in_an_older_encoding_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_bytes(f"{GENERATED}\nü,10,500,bert,90,64,2,40,0\n".encode("latin-1"))

    with pytest.raises(InputInvalid, match=r"line 2: byte \d+ is not UTF-8\. Save the file as UTF-8"):
        read_trace(file)


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"none\.csv: there is no such file"):
        read_trace(tmp_path / "none.csv")
    with pytest.raises(InputInvalid, match="Is a directory"):
        read_trace(tmp_path)
