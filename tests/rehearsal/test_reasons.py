"""Why a job ended at another time than simulated: each difference that is worth a word has its cause."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.rehearsal.evidence import Evidence
from tenuto.rehearsal.reasons import Fidelity, fidelity
from tenuto.rehearsal.walk import Change, Walk

SPEEDUP = 60.0


def a_walk(finished: float | None = 1000.0, *sizes: tuple[float, int], **fields: Any) -> Walk:
    changes = tuple(Change(at, slots) for at, slots in sizes or [(0.0, 2)])
    return Walk(
        job="x", **({"submitted": 0.0, "admitted": True} | fields), finished=finished, changes=changes
    )


def compared(live: Walk, simulated: Walk | None = None, **evidence: Any) -> Fidelity:
    return fidelity(simulated or a_walk(), Evidence(live, **evidence), SPEEDUP)


@pytest.mark.parametrize("end", [950.0, 1000.0, 1050.0])
def test_five_in_a_hundred_are_near_enough(end: float) -> None:
    job = compared(a_walk(end))

    assert job.close
    assert job.reasons == ()


def test_slow_starts_of_processes_are_told_in_milliseconds_and_in_seconds_of_the_trace() -> None:
    job = compared(a_walk(1100.0), starts=[1.5])

    assert job.off == pytest.approx(0.1)
    assert job.reasons[0] == (
        "+90 s: once its processes were there only 1,500 ms after the decision, which are 90 s of the trace"
    )


def test_the_causes_add_up_to_the_difference_and_the_largest_comes_first() -> None:
    live = a_walk(1300.0, (120.0, 2), (400.0, 1), submitted=30.0)

    job = compared(live, starts=[0.5, 0.5], noticed=0.5)

    seconds = [float(reason.partition(" s: ")[0].replace(",", "")) for reason in job.reasons]
    assert sum(seconds) == pytest.approx(300.0)
    assert seconds == sorted(seconds, key=abs, reverse=True)
    assert "other sizes: 2→1 here, 2 in the simulator" in " ".join(job.reasons)


def test_the_same_sizes_at_other_moments_are_called_that() -> None:
    job = compared(a_walk(1200.0, (0.0, 2), (700.0, 4)), a_walk(1000.0, (0.0, 2), (500.0, 4)))

    assert job.reasons == ["+200 s: rescaled at other moments (2→4)"]


def test_who_was_never_rescaled_is_told_that_its_processes_were_slow() -> None:
    job = compared(a_walk(1200.0))

    assert job.reasons == ["+200 s: what its processes, once there, took beyond the curve"]


def test_another_answer_is_a_difference_although_nothing_ended() -> None:
    refused = a_walk(None, admitted=False, why="deadline_infeasible", submitted=40.0)

    job = compared(refused, a_walk(None))

    assert not job.close
    assert job.reasons == [
        "declined here (deadline_infeasible), accepted in the simulator, which it reached +40 s later"
    ]


def test_a_job_that_failed_says_how() -> None:
    job = compared(a_walk(None), state="failed", message="no such program")

    assert job.reasons == ["failed here: no such program"]


def test_lost_workers_are_named() -> None:
    job = compared(a_walk(1500.0), lost=["worker 0 of generation 1 on uzel-0: exit code 137"])

    assert job.reasons[-1] == "1 workers were lost; worker 0 of generation 1 on uzel-0: exit code 137"


def test_who_is_declined_in_both_is_the_same() -> None:
    refused = a_walk(None, admitted=False)

    assert compared(refused, refused).close
