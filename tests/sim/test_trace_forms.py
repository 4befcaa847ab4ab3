"""Traces in the forms of Chronus and Pollux: golden files, there and back, and what is lost on the way."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from tests.sim.test_write_trace import read_back, traces
from tests.sim.trace_columns import columns_of

from tenuto.errors import InputInvalid
from tenuto.sim.convert import Converted, Origin, convert
from tenuto.sim.draws import Wishes
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.read_pollux import whole_trainings
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.trace import Trace
from tenuto.sim.write_trace import Form, write_trace, write_users

GOLDEN = Path(__file__).parent / "golden"
T4, A100 = load_profiles("t4"), load_profiles("a100")
OURS = read_trace(GOLDEN / "ours.csv")


def written(trace: Trace, form: Form) -> str:
    stream = io.StringIO()
    write_trace(trace, stream, form)
    return stream.getvalue()


def converted(path: Path, *, profiles: Any = T4, origin: Origin | None = None) -> Converted:
    return convert(path, 0, Wishes(), profiles, origin)


def file_of(directory: Path, text: str) -> Path:
    path = directory / "foreign.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("form", [Form.CHRONUS, Form.POLLUX])
def test_a_trace_is_written_like_the_golden_file(form: Form) -> None:
    assert written(OURS, form) == (GOLDEN / f"{form}.csv").read_text(encoding="utf-8")


def test_the_users_are_listed_like_the_golden_file() -> None:
    stream = io.StringIO()

    write_users(OURS, stream)

    assert stream.getvalue() == (GOLDEN / "chronus-names.lst").read_text(encoding="utf-8")


# Chronus


@given(trace=traces(whole=True, best_effort=True))
def test_chronus_form_carries_whole_numbers(trace: Trace) -> None:
    assert columns_of(read_back(trace, Form.CHRONUS)) == columns_of(trace)


@pytest.mark.parametrize("origin", [None, Origin.CHRONUS])
def test_a_chronus_trace_is_known_by_its_columns(origin: Origin | None) -> None:
    result = converted(GOLDEN / "chronus.csv", origin=origin)

    assert columns_of(result.trace) == columns_of(OURS)
    assert result.remark == ""


def test_chronus_own_word_for_best_effort_is_understood(tmp_path: Path) -> None:
    text = (GOLDEN / "chronus.csv").read_text(encoding="utf-8").replace("10,1,best", "10,0,best")

    assert columns_of(converted(file_of(tmp_path, text)).trace) == columns_of(OURS)


# Pollux


@pytest.mark.parametrize("origin", [None, Origin.POLLUX])
def test_of_a_pollux_trace_ids_and_durations_are_lost_and_nothing_else(origin: Origin | None) -> None:
    result = converted(GOLDEN / "pollux.csv", origin=origin)

    lost = {"ids": ("cifar10-0", "bert-3", "ncf-1", "yolov3-2"), "duration": [5645.0, 6665.0, 67.0, 11084.0]}
    assert columns_of(result.trace) == columns_of(OURS) | lost
    assert result.remark == "Durations are those of the t4 profiles."


def test_a_lost_duration_is_recovered_up_to_a_second_and_a_step(tmp_path: Path) -> None:
    drawn = generate(GeneratorOptions(jobs=300, mean_interarrival=60, best_effort_share=0.3), A100)

    again = converted(file_of(tmp_path, written(drawn, Form.POLLUX)), profiles=A100).trace

    assert columns_of(replace(again, ids=drawn.ids, duration=drawn.duration)) == columns_of(drawn)
    assert (np.abs(drawn.duration - again.duration) <= 1.0 + drawn.duration / drawn.steps).all()


def test_of_a_published_trace_only_the_ids_are_lost(shared: Path, tmp_path: Path) -> None:
    published = read_trace(shared / "data" / "traces" / "cluster10.csv")

    again = converted(file_of(tmp_path, written(published, Form.POLLUX)), profiles=A100).trace

    assert columns_of(replace(again, ids=published.ids)) == columns_of(published)


def test_without_samples_a_job_trains_to_its_end(tmp_path: Path) -> None:
    lines = (GOLDEN / "pollux.csv").read_text(encoding="utf-8").splitlines()
    text = "\n".join(line.rpartition(",")[0] for line in lines)

    result = converted(file_of(tmp_path, text))

    assert result.trace.steps.tolist() == OURS.steps.tolist()
    assert result.remark.endswith(
        "4 jobs without samples train to their end, as recorded for their batch size."
    )


def test_without_a_deadline_column_everything_is_best_effort(tmp_path: Path) -> None:
    text = "name,time,application,num_replicas,batch_size,max_sample\na,1,bert,2,384,385\n"

    trace = converted(file_of(tmp_path, text)).trace

    assert trace.best_effort.all()
    assert trace.steps.tolist() == [2.0]


def test_the_references_pollux_trace_becomes_its_own_trace(shared: Path, tmp_path: Path) -> None:
    """Its Pollux form is not public; it is the trace of Figure 8(a) without steps and durations."""
    figure = read_trace(shared / "data" / "traces" / "elasticVpollux_e.csv")
    text = "\n".join(line.rpartition(",")[0] for line in written(figure, Form.POLLUX).splitlines())

    again = converted(file_of(tmp_path, text)).trace

    assert columns_of(replace(again, ids=figure.ids)) == columns_of(figure)


def test_the_recorded_trainings_are_those_of_the_reference() -> None:
    recorded = whole_trainings()

    assert (recorded["cifar10", 4096], recorded["imagenet", 6400], recorded["bert", 384]) == (
        2011,
        23972,
        480,
    )


HEADER = "name,time,application,num_replicas,batch_size,ddl,samples\n"
BAD = {
    "unknown model": (f"{HEADER}a,1,gpt9,2,384,9,10\n", 2, "application", "--profiles"),
    "unknown size": (f"{HEADER}a,1,bert,3,384,9,10\n", 2, "num_replicas", "--profiles"),
    "unknown batch": (f"{HEADER}a,1,bert,2,385,9,\n", 2, "batch_size", "one of 12, 24, 48, 96, 192, 384"),
    "never recorded": (f"{HEADER}a,1,gpt2,2,128,9,\n", 2, "application", "Add a column samples"),
    "no samples": (f"{HEADER}a,1,bert,2,384,9,0\n", 2, "samples", "how many samples"),
    "no number": (f"{HEADER}a,1,bert,2,384,9,many\n", 2, "samples", "plain number"),
    "too late": (f"{HEADER}a,10,bert,2,384,9,1\n", 2, "ddl", "by which the job must be done"),
    "two of a name": (f"{HEADER}a,1,bert,2,384,9,1\na,1,bert,2,384,9,1\n", 3, "name", "an id of its own"),
    "no time": (
        "name,application,num_replicas,batch_size\na,bert,2,384\n",
        1,
        "time",
        "Pollux's columns are",
    ),
}


@pytest.mark.parametrize(("text", "line", "column", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_bad_pollux_trace_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, line: int, column: str, remedy: str
) -> None:
    with pytest.raises(InputInvalid) as caught:
        converted(file_of(tmp_path, text))

    place = caught.value.place
    assert place is not None
    assert (place.line, place.column) == (line, column)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("origin", "column"),
    [(Origin.CHRONUS, "num_gpu"), (Origin.POLLUX, "name"), (Origin.RAW, "submission_time")],
)
def test_a_file_that_is_not_what_the_user_says_is_refused(origin: Origin, column: str) -> None:
    with pytest.raises(InputInvalid, match=f"the header has no column '{column}'"):
        converted(GOLDEN / "ours.csv", origin=origin)


def test_a_chronus_deadline_must_leave_time(tmp_path: Path) -> None:
    text = (GOLDEN / "chronus.csv").read_text(encoding="utf-8").replace(",33,10,", ",0,10,")

    with pytest.raises(
        InputInvalid, match=r"line 3, column 'expect_time_list': '0' is not after .*submission"
    ):
        converted(file_of(tmp_path, text))


def test_a_pollux_trace_cannot_be_replayed_as_it_is() -> None:
    with pytest.raises(InputInvalid, match=r"trace of Pollux.*tenuto trace convert .*pollux\.csv"):
        read_trace(GOLDEN / "pollux.csv")
