"""What was measured is what a replay charges."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tenuto.bench.overhead import tables_of, write_overhead
from tenuto.bench.rescales import PHASES, Case, Measured
from tenuto.cli.bench_run import write_rescales
from tenuto.model.cluster import Cluster
from tenuto.sim.cost import load_cost

FIVE = {
    Case(1, 2): (800.0, 90.0),
    Case(2, 1): (0.0, 40.0),
    Case(8, 16): (2400.0, 300.0),
    Case(16, 8): (0.0, 120.0),
    Case(2, 2, migrate=True): (900.0, 150.0),
}
"""The paper's cases: milliseconds to warm up, and of the pause."""


def measured(case: Case, warm_up: float, pause: float) -> Measured:
    phases = dict.fromkeys(PHASES, 0.0) | {"warm_up_ms": warm_up, "form_ms": 10.0, "pause_ms": pause}
    return Measured(case, phases, 300)


def test_five_cases_in_two_measurements_become_what_a_replay_charges(tmp_path: Path) -> None:
    rows, out = tmp_path / "pomiary.csv", tmp_path / "narzut.json"
    found = [measured(case, *times) for case, times in FIVE.items()]
    write_rescales(rows, "25M", found[:4])
    write_overhead(out, rows)
    write_rescales(rows, "25M", found[4:])
    write_overhead(out, rows)

    assert json.loads(out.read_text(encoding="utf-8")) == {
        "start": {"2": 0.86, "16": 2.41},
        "rescale": {"1": 0.04, "2": 0.09, "8": 0.12, "16": 0.3},
        "move": {"2": 0.15},
    }
    cost = load_cost(str(out), np.array([1, 2, 8, 16]), Cluster.regular("n4g4", nodes=4, slots=4))
    assert list(cost.rescale) == pytest.approx([0.04, 0.09, 0.12, 0.3])
    assert (cost.start > 0).all() and (cost.move > 0).all()


def test_without_a_start_a_start_costs_what_a_rescale_does() -> None:
    row = {"case": "2→1", "warm_up_ms": "0", "form_ms": "5", "pause_ms": "40"}

    assert tables_of([row]) == {"rescale": {"1": 0.04}, "start": {"1": 0.04}}


def test_where_nothing_was_measured_nothing_is_written(tmp_path: Path) -> None:
    rows = tmp_path / "rescales.csv"
    write_rescales(rows, "25M", [])

    write_overhead(tmp_path / "overhead.json", rows)

    assert not (tmp_path / "overhead.json").exists()
