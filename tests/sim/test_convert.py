"""Raw cluster logs made into traces: what remains, what is left out and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.sim.trace_columns import columns_of

from tenuto.errors import InputInvalid
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.convert import Converted, LeftOut, convert, tell
from tenuto.sim.draws import Wishes
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.write_trace import Form, write_trace

if TYPE_CHECKING:
    from pathlib import Path

# One job is fine and one is for each reason.
OLDER_LOG = """\
job_id,submit_time,gpus,duration,status
fine,100,8,3600,Pass
failed,110,1,3600,Failed
early,-5,1,3600,Pass
odd,120,5,3600,Pass
short,130,1,599,Pass
large,140,128,3600,Pass
unknown,150,12,3600,Killed
größte,160,64,600,Killed
"""

A100 = load_profiles("a100")


def converted(directory: Path, text: str, seed: int = 0, wishes: Wishes | None = None) -> Converted:
    file = directory / "log.csv"
    file.write_text(text, encoding="utf-8")
    return convert(file, seed, wishes or Wishes(), A100)


def test_of_eight_jobs_exactly_those_that_can_be_replayed_remain(tmp_path: Path) -> None:
    result = converted(tmp_path, OLDER_LOG)

    assert result.trace.ids == ("fine", "größte")
    assert result.trace.requested.tolist() == [8, 64]
    assert result.trace.line.tolist() == [2, 9]
    assert result.left_out == {
        LeftOut.FAILED: 1,
        LeftOut.BEFORE_START: 1,
        LeftOut.ODD_SIZE: 1,
        LeftOut.SHORT: 1,
        LeftOut.LARGE: 1,
        LeftOut.UNPROFILED: 1,
    }


def test_what_was_left_out_is_told_in_one_line(tmp_path: Path) -> None:
    result = converted(tmp_path, OLDER_LOG)

    assert result.left_out_count == 6
    assert tell(result.left_out) == (
        "1 failed, 1 submitted before the log begins, 1 held 3, 5, 6 or 7 slots, 1 ran for less than 600 s, "
        "1 held more than 64 slots, 1 held a number of slots that no profile knows"
    )


def test_each_job_gets_a_model_that_fits_its_steps_and_a_deadline(tmp_path: Path) -> None:
    rows = "".join(f"{job},{job},{3600 + job},64\n" for job in range(50))

    trace = converted(tmp_path, f"job_id,submission_time,duration,num_gpu\n{rows}").trace

    for job in range(50):
        curve = A100.curves[trace.models[job], int(trace.batch[job])]
        assert trace.steps[job] == int(trace.duration[job] * curve.rate[64])
    assert trace.batch.min() >= 64
    assert (trace.deadline - trace.submitted >= trace.duration // 2).all()
    assert (trace.deadline - trace.submitted <= trace.duration * 1.5).all()


def test_the_same_seed_gives_the_same_trace_and_another_seed_another(tmp_path: Path) -> None:
    once = columns_of(converted(tmp_path, OLDER_LOG).trace)

    assert columns_of(converted(tmp_path, OLDER_LOG).trace) == once
    assert columns_of(converted(tmp_path, OLDER_LOG, seed=1).trace) != once


def test_jobs_can_be_made_best_effort(tmp_path: Path) -> None:
    assert converted(tmp_path, OLDER_LOG, wishes=Wishes(best_effort_share=1.0)).trace.best_effort.all()


def test_a_trace_is_taken_as_it_is(tmp_path: Path) -> None:
    trace = converted(tmp_path, OLDER_LOG).trace
    write_trace(trace, tmp_path / "trace.csv", Form.REFERENCE)

    again = convert(tmp_path / "trace.csv", 5, Wishes(), A100)

    assert columns_of(again.trace) == columns_of(trace)
    assert again.left_out == {}


def test_the_public_logs_become_traces_with_all_their_jobs(shared: Path) -> None:
    for log in sorted((shared / "data" / "raw").glob("*.csv")):
        result = convert(log, 0, Wishes(), A100)
        published = read_trace(shared / "data" / "traces" / log.name)

        assert result.left_out == {}
        assert result.trace.ids == published.ids
        assert (result.trace.requested == published.requested).all()
        assert (result.trace.duration == published.duration).all()


BAD = {
    "column missing": ("job_id,submission_time,duration\na,1,600\n", 1, "num_gpu", "A raw log has"),
    "broken number": (
        "job_id,submission_time,duration,num_gpu\na,1,600,1\nb,1,ten,1\n",
        3,
        "duration",
        "plain",
    ),
    "id taken": (
        "job_id,submission_time,duration,num_gpu\na,1,600,1\na,1,600,1\n",
        3,
        "job_id",
        "of its own",
    ),
    "nothing left": ("job_id,submission_time,duration,num_gpu\na,1,60,1\n", None, None, "longer jobs"),
    "half a trace": (
        "job_id,submission_time,duration,num_gpu,model_name\na,1,600,1,bert\n",
        1,
        "iteration",
        "Name",
    ),
}


@pytest.mark.parametrize(("text", "line", "column", "remedy"), BAD.values(), ids=BAD.keys())
def test_a_bad_log_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, line: int | None, column: str | None, remedy: str
) -> None:
    with pytest.raises(InputInvalid) as caught:
        converted(tmp_path, text)

    place = caught.value.place
    assert place is not None
    assert (place.file, place.line, place.column) == (str(tmp_path / "log.csv"), line, column)
    assert remedy in caught.value.remedy


def test_sizes_without_a_profile_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("job_id,submission_time,duration,num_gpu\na,1,600,1\nb,1,600,2\nc,1,600,0\n")
    only_one = Profiles("own", "own", {("bert", 64): Curve({1: 2.0})})

    result = convert(file, 0, Wishes(), only_one)

    assert result.trace.ids == ("a",)
    assert result.left_out == {LeftOut.UNPROFILED: 1, LeftOut.NO_SLOTS: 1}
