"""Errands: what is ordered becomes an experiment, and trouble is told in the words of whoever ordered it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.lab.experiments import a_trace

from tenuto.errors import CellsFailed, InputInvalid
from tenuto.lab import errand
from tenuto.lab.orders import DIGEST, EXPERIMENT, INPUTS, FigureOrder, ReplayOrder, read_order, write_order

TIME: dict[str, Any] = {
    "since": "1970-01-01T00:00:00Z", "until": "1970-01-01T00:10:00Z", "nodes": {"노드-0": 4}, "share": 1.0,
    "changes": 0, "policy": "gandiva", "settings": {"quantum": 90.0}, "interval": 30.0, "margin": 0.1,
    "placement": "pack", "seed": 3, "start_cost": 2.0, "rescale_cost": 1.0,
}  # fmt: skip


def a_past(number: int) -> dict[str, Any]:
    trace = {
        "arrived": 10.0 * number, "steps": 100.0, "deadline": 600.0, "batch": 1, "workers": 1,
        "curve": {"1": 10.0, "2": 18.0},
    }  # fmt: skip
    return {
        "id": f"직-{number}", "name": "x", "owner": "kim", "state": "succeeded", "reply": "admitted", "promise": "kept",
        "submitted_at": f"1970-01-01T00:00:{10 * number:02}Z", "started_at": f"1970-01-01T00:00:{10 * number + 1:02}Z",
        "ended_at": "1970-01-01T00:01:00Z", "rescales": 0, "guesses": [], "left_out": "", "trace": trace,
    }  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The directory of an errand."""
    (tmp_path / INPUTS).mkdir()
    return tmp_path


def told_by(doing: Any, place: Path) -> list[dict[str, Any]]:
    """What an errand tells."""
    news: list[dict[str, Any]] = []
    doing(place, lambda **line: news.append(line))
    return news


@pytest.mark.parametrize(
    "order",
    [
        ReplayOrder(trace="demo-10", policies=("fifo", "edf"), cluster="n1g8", compat="artifact"),
        FigureOrder(figure="10", without=("chronus",)),
    ],
)
def test_an_order_is_read_as_it_was_written(place: Path, order: ReplayOrder | FigureOrder) -> None:
    write_order(order, place)

    assert read_order(place) == order


def test_the_past_is_replayed_by_its_rules_and_the_policy_in_force_as_it_was_set(place: Path) -> None:
    past = {"time": TIME, "jobs": [a_past(1), a_past(2)]}
    (place / INPUTS / "past.json").write_text(json.dumps(past))
    write_order(ReplayOrder(trace="", policies=("fifo", "gandiva"), cluster=""), place)

    assert told_by(errand.check, place) == [{"ready": True, "cells": 2, "jobs": 2, "remarks": []}]

    written = yaml.safe_load((place / EXPERIMENT).read_text())
    assert written["policies"] == ["fifo", {"gandiva": {"quantum": 90.0}}]
    assert written["parameters"] == {
        "slot": 30.0,
        "margin": 0.1,
        "placement": "pack",
        "overhead": "inputs/past/costs.json",
        "profiles": "inputs/past/profiles.csv",
    }
    assert written["seeds"] == [3]
    *_, last = told_by(errand.run, place)
    assert (last["part"], last["ended"], last["cells"]) == (1.0, 2, 2)
    digest = json.loads((place / DIGEST).read_text())
    assert digest["zero"] == 10.0
    assert [telling["name"] for telling in digest["tellings"]] == ["as it was", "fifo", "gandiva"]
    assert [telling["row"]["met"] for telling in digest["tellings"]] == [2, 2, 2]


def test_what_cannot_be_replayed_is_refused_before_anything_runs(place: Path) -> None:
    a_trace(place / INPUTS / "wide.csv", slots=64)
    write_order(ReplayOrder(trace="inputs/wide.csv", policies=("fifo", "edf"), cluster="n1g2"), place)

    with pytest.raises(InputInvalid) as refused:
        told_by(errand.check, place)

    said = errand.explained(refused.value, place)
    assert said.startswith("this cannot be replayed. wide.csv, line 2")
    assert said.count("wide.csv") == 1


def test_places_are_told_as_the_visitor_knows_them(place: Path) -> None:
    write_order(ReplayOrder(trace="demo-01", policies=("fifo",), cluster="n1g2"), place)
    with pytest.raises(InputInvalid) as refused:
        told_by(errand.check, place)
    assert errand.explained(refused.value, place).startswith("'demo-01' is neither a file nor a known trace.")

    failed = CellsFailed({"edf on x": "oops"}, 2)
    assert errand.explained(failed, place) == "edf on x: oops"
