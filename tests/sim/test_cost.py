"""What changes cost in a replay."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.builders import a_cluster

from tenuto.errors import InputInvalid
from tenuto.model.columns import Floats, Ints
from tenuto.model.cost import Cost
from tenuto.sim.cost import load_cost

SIZES: Ints = np.array([1, 2, 4, 8, 256], dtype=np.int64)
SMALL, LARGE = a_cluster([8] * 31), a_cluster([8] * 32)


def the_same(cost: Cost) -> Floats:
    """The column, if a start, a rescale and a move cost the same."""
    assert cost.start.tolist() == cost.rescale.tolist() == cost.move.tolist()
    return cost.start


def test_by_default_two_seconds_and_two_more_with_each_doubling() -> None:
    assert the_same(load_cost("default", SIZES, LARGE)).tolist() == [4.0, 6.0, 8.0, 10.0, 20.0]


def test_none_is_nothing() -> None:
    assert not the_same(load_cost("none", SIZES, LARGE)).any()


def test_the_reference_charges_more_on_clusters_of_256_slots_or_more() -> None:
    assert the_same(load_cost("artifact", SIZES, SMALL)).tolist() == [4.0, 6.0, 8.0, 10.0, 20.0]
    assert the_same(load_cost("artifact", SIZES, LARGE)).tolist() == [9.0, 11.0, 13.0, 15.0, 25.0]


def a_file(directory: Path, text: str) -> str:
    path = directory / "cost.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_file_gives_seconds_by_slots_and_between_them_a_straight_line(tmp_path: Path) -> None:
    text = '{"start": {"1": 4, "5": 12.0}, "rescale": {"2": 3}, "move": {"8": 1}}'

    cost = load_cost(a_file(tmp_path, text), SIZES, SMALL)

    assert cost.start.tolist() == [4.0, 6.0, 10.0, 12.0, 12.0]
    assert set(cost.rescale.tolist()) == {3.0}
    assert set(cost.move.tolist()) == {1.0}


def test_in_a_file_a_rescale_costs_a_start_and_a_move_a_rescale_unless_said(tmp_path: Path) -> None:
    only_start = load_cost(a_file(tmp_path, '{"start": {"1": 4}}'), SIZES, SMALL)
    no_move = load_cost(a_file(tmp_path, '{"start": {"1": 4}, "rescale": {"1": 2}}'), SIZES, SMALL)

    assert set(the_same(only_start).tolist()) == {4.0}
    assert set(no_move.move.tolist()) == {2.0}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("", "line 1: is not JSON", id="empty"),
        pytest.param('{"start":\n{"1": 4,}}', "line 2: is not JSON", id="broken"),
        pytest.param("[1, 2]", "has no table 'start'", id="a list"),
        pytest.param('{"rescale": {"1": 4}}', "has no table 'start'", id="no start"),
        pytest.param('{"start": 4}', "has no table 'start'", id="a number"),
        pytest.param('{"start": {}}', "column 'start': is no table", id="an empty table"),
        pytest.param('{"start": {"1": 4}, "move": 3}', "column 'move': is no table", id="a number for move"),
        pytest.param('{"start": {"1": 4}, "stop": {}}', "unknown table 'stop'", id="an unknown table"),
        pytest.param('{"start": {"0": 4}}', "unusable entry '0': 4", id="no slots"),
        pytest.param('{"start": {"1.5": 4}}', "unusable entry '1.5': 4", id="half a slot"),
        pytest.param('{"start": {"1": -4}}', "unusable entry '1': -4", id="a gift"),
        pytest.param('{"start": {"1": "4"}}', "unusable entry '1': '4'", id="a text"),
        pytest.param('{"start": {"1": NaN}}', "unusable entry '1': nan", id="not a number"),
        pytest.param('{"start": {"1": true}}', "unusable entry '1': True", id="yes"),
        pytest.param('{"start": {"1": Infinity}}', "unusable entry '1': inf", id="for ever"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_a_remedy(tmp_path: Path, text: str, problem: str) -> None:
    file = a_file(tmp_path, text)

    with pytest.raises(InputInvalid, match=problem) as caught:
        load_cost(file, SIZES, SMALL)

    assert str(caught.value).startswith(file)
    assert caught.value.remedy


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    path.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(InputInvalid, match="cannot be read"):
        load_cost(str(path), SIZES, SMALL)


def test_a_name_that_is_neither_a_model_nor_a_file_is_refused() -> None:
    with pytest.raises(InputInvalid, match="no cost model and no file is called 'defualt'"):
        load_cost("defualt", SIZES, SMALL)
