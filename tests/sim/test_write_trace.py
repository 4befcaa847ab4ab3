"""What is written can be read again, unchanged, in every form that can carry it."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sim.trace_columns import columns_of

from tenuto.errors import InputInvalid
from tenuto.sim.read_trace import parse_trace, read_trace
from tenuto.sim.trace import Trace, in_order_of_submission
from tenuto.sim.write_trace import Form, write_trace

if TYPE_CHECKING:
    from pathlib import Path

# Any text on one line; blanks around a field are not part of it.
WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(
    lambda text: text == text.strip()
)


@st.composite
def traces(draw: st.DrawFn, *, whole: bool, best_effort: bool) -> Trace:
    ids = draw(st.lists(WORDS, min_size=1, max_size=5, unique=True))
    count = len(ids)

    def numbers(least: float) -> np.ndarray:
        one = st.integers(int(least), 10**9) if whole else st.floats(least, 1e12)
        return np.array(draw(st.lists(one, min_size=count, max_size=count)), dtype=np.float64)

    def counts() -> np.ndarray:
        one = st.integers(1, 10**6)
        return np.array(draw(st.lists(one, min_size=count, max_size=count)), dtype=np.int64)

    submitted = numbers(0)
    free = np.array(
        draw(st.lists(st.booleans() if best_effort else st.just(False), min_size=count, max_size=count))
    )
    return in_order_of_submission(
        Trace(
            name="drawn",
            source="drawn",
            ids=tuple(ids),
            models=tuple(draw(st.lists(WORDS, min_size=count, max_size=count))),
            batch=counts(),
            submitted=submitted,
            steps=numbers(1),
            deadline=np.where(free, np.inf, submitted + numbers(1)),
            best_effort=free,
            requested=counts(),
            duration=numbers(1),
            position=np.arange(count),
            line=np.arange(count) + 2,
        )
    )


def read_back(trace: Trace, form: Form) -> Trace:
    stream = io.StringIO()
    write_trace(trace, stream, form)
    return parse_trace(stream.getvalue(), file="again.csv", name="again")


@given(trace=traces(whole=False, best_effort=True))
def test_our_form_carries_everything(trace: Trace) -> None:
    assert columns_of(read_back(trace, Form.TENUTO)) == columns_of(trace)


@given(trace=traces(whole=True, best_effort=True))
def test_the_references_form_carries_whole_numbers(trace: Trace) -> None:
    assert columns_of(read_back(trace, Form.REFERENCE)) == columns_of(trace)


@given(trace=traces(whole=True, best_effort=False))
def test_the_published_form_carries_whole_numbers_and_deadlines(trace: Trace) -> None:
    assert columns_of(read_back(trace, Form.PUBLISHED)) == columns_of(trace)


def a_trace(text: str) -> Trace:
    header = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"
    return parse_trace(f"{header}\n{text}\n", file="own.csv", name="own")


def test_the_references_form_cuts_off_fractions() -> None:
    stream = io.StringIO()

    write_trace(a_trace("a,1.9,20.9,bert,50.5,64,2,30.7,0"), stream, Form.REFERENCE)

    assert stream.getvalue().splitlines()[1] == "a,1,20,bert,50,64,2,30,0"


def test_a_best_effort_job_has_an_empty_deadline_in_our_form_and_a_number_in_the_references() -> None:
    trace = a_trace("a,1,20,bert,,64,2,30,1")
    ours, references = io.StringIO(), io.StringIO()

    write_trace(trace, ours, Form.TENUTO)
    write_trace(trace, references, Form.REFERENCE)

    assert ours.getvalue().splitlines()[1] == "a,1,20,bert,,64,2,30,1"
    assert references.getvalue().splitlines()[1] == "a,1,20,bert,31,64,2,30,1"


CANNOT = {
    "best effort": ("a,1,20,bert,,64,2,30,1", Form.PUBLISHED, "best_effort"),
    "less than a second": ("a,1,20,bert,9,64,2,0.5,0", Form.REFERENCE, "duration"),
    "less than a step": ("a,1,0.5,bert,9,64,2,5,0", Form.PUBLISHED, "duration"),
    "deadline in the same second": ("a,1.1,20,bert,1.9,64,2,5,0", Form.REFERENCE, "deadline"),
}


@pytest.mark.parametrize(("job", "form", "column"), CANNOT.values(), ids=CANNOT.keys())
def test_what_a_form_cannot_carry_is_refused_and_nothing_is_written(
    tmp_path: Path, job: str, form: Form, column: str
) -> None:
    with pytest.raises(InputInvalid, match=rf"own\.csv, line 2, column '{column}': job 'a'.*form tenuto"):
        write_trace(a_trace(job), tmp_path / "out.csv", form)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["名前.csv", "trace.txt"])
def test_a_file_is_written_as_its_name_says(tmp_path: Path, name: str) -> None:
    trace = a_trace("a b,1,20,bert,,64,2,30,1")

    write_trace(trace, tmp_path / name, Form.TENUTO)

    assert columns_of(read_trace(tmp_path / name)) == columns_of(trace)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"none.*out\.csv: the file cannot be written.*existing directory"):
        write_trace(a_trace("a,1,20,bert,,64,2,30,1"), tmp_path / "none" / "out.csv", Form.TENUTO)
