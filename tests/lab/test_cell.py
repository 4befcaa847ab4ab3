"""Cells: how they are told and read back."""

from __future__ import annotations

import json

from tenuto.lab.cell import Cell
from tenuto.model.snapshot import Placement

SPECIAL = Cell(
    trace="data/day.csv",
    policy="tiresias",
    cluster="n8g8",
    slot=240.0,
    settings=(("limit", 3), ("near", True)),
)


def test_a_cell_is_read_back_from_what_a_manifest_tells() -> None:
    assert Cell.from_arguments(json.loads(json.dumps(SPECIAL.arguments()))) == SPECIAL


def test_what_a_manifest_does_not_tell_is_as_usual() -> None:
    assert Cell.from_arguments({"trace": "x", "early_stop": None}) == Cell(trace="x")


def test_a_cell_is_called_by_what_is_special_about_it() -> None:
    assert str(SPECIAL) == "tiresias on day, n8g8, slot 240, limit 3, near True"
    assert str(Cell(trace="lab-200")) == "elasticflow on lab-200, n16g8"


def test_its_terms_are_those_of_a_replay() -> None:
    terms = Cell(trace="x", placement="random", seed=7, margin=0.1, compat="artifact").terms

    assert (terms.rules.placement, terms.rules.seed, terms.rules.margin) == (Placement.RANDOM, 7, 0.1)
    assert (terms.overhead, terms.compat, terms.rules.interval) == ("default", "artifact", 60.0)
