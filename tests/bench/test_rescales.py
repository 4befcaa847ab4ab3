"""From what workers tell of their rescales to the numbers of Figure 12(b)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bench.platform import Obliging

from tenuto.bench.jobs import job_of_model, job_of_size, parameters_of
from tenuto.bench.rescales import Case, Rescales, medians
from tenuto.errors import InputInvalid, NotFound

JOB = job_of_size(25_000_000, batch=16, most=4)


def a_rescale(after: int, pause: float, **fields: Any) -> dict[str, Any]:
    phases = {"warm_up_ms": 400, "agree_ms": 1.0, "form_ms": 20.0, "transfer_ms": 5.0, "first_step_ms": 50.0}
    return {"why": "grow", "after": after, **phases, "pause_ms": pause, "moved_bytes": 300, **fields}


def test_sizes_are_pinned_and_their_pauses_read() -> None:
    platform = Obliging(told=(a_rescale(2, 90.0), a_rescale(1, 0.0), a_rescale(2, 110.0)))
    rescales = Rescales(platform.client, JOB, ["węzeł-0"])

    found = list(rescales.measure([Case(1, 2), Case(2, 1), Case(1, 2)]))

    assert [one.case.name for one in found] == ["1→2", "2→1", "1→2"]
    assert {name: phases["pause_ms"] for name, phases in medians(found).items()} == {
        "1→2": 100.0,
        "2→1": 25.0,
    }
    assert found[0].moved_bytes == 300
    assert [asked[2] for asked in platform.asked[1:]] == [{"węzeł-0": 2}, {"węzeł-0": 1}, {"węzeł-0": 2}]


def test_a_move_is_the_sum_of_its_generations() -> None:
    platform = Obliging(nodes=2, told=(a_rescale(2, 90.0), a_rescale(1, 30.0, why="shrink")))
    rescales = Rescales(platform.client, JOB, ["węzeł-0", "węzeł-1"])

    (found,) = rescales.measure([Case(1, 1, migrate=True)])

    assert found.case.name == "migrate 1"
    assert found.milliseconds["pause_ms"] == 120.0
    assert platform.asked[-1][2] == {"węzeł-0": 0, "węzeł-1": 1}


def test_the_job_is_cancelled_in_the_end() -> None:
    platform = Obliging()
    rescales = Rescales(platform.client, JOB, ["węzeł-0"])

    rescales.end()

    assert platform.asked[-1] == ("cancel", "j0")


@pytest.mark.parametrize(
    ("text", "count"), [("25M", 25_000_000), ("1.5m", 1_500_000), ("300K", 300_000), ("7", 7)]
)
def test_parameters_may_be_written_with_a_unit(text: str, count: int) -> None:
    assert parameters_of(text) == count


@pytest.mark.parametrize("text", ["", "M", "-1", "0", "25G", "dużo", "9999999M"])
def test_what_is_no_number_of_parameters_is_refused(text: str) -> None:
    with pytest.raises(InputInvalid, match="is no number of parameters"):
        parameters_of(text)


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(NotFound, match="resnet"):
        job_of_model("resnet", most=2)
