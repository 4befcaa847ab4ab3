"""What a cell depends on: its key changes with it, and with nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.lab.experiments import CLUMSY, HOLDING, a_policy, a_trace

import tenuto
from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.fingerprints import hash_of_source
from tenuto.lab.sources import Sources

PROFILES = "model,global_batch,slots,steps_per_second\nresnet50,128,1,{speed}\nresnet50,128,2,9.0\n"
COST = '{{"start": {{"1": {seconds}}}}}'
CLUSTER = "nodes:\n- {{slots: 2, count: {count}}}\n"


def key(cell: Cell) -> str:
    return Sources().key(cell)


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """A cell with a file for everything that can be one."""
    (tmp_path / "speeds.csv").write_text(PROFILES.format(speed=5.0))
    (tmp_path / "cost.json").write_text(COST.format(seconds=2))
    (tmp_path / "site.yaml").write_text(CLUSTER.format(count=2))
    return Cell(
        trace=str(a_trace(tmp_path / "day.csv")),
        policy=str(a_policy(tmp_path / "mine.py", HOLDING)),
        profiles=str(tmp_path / "speeds.csv"),
        overhead=str(tmp_path / "cost.json"),
        cluster=str(tmp_path / "site.yaml"),
    )


EDITS = {
    "day.csv": "",
    "speeds.csv": PROFILES.format(speed=6.0),
    "cost.json": COST.format(seconds=3),
    "site.yaml": CLUSTER.format(count=3),
    "mine.py": CLUMSY,
}


@pytest.mark.parametrize("name", EDITS)
def test_another_content_of_a_file_makes_another_cell(cell: Cell, tmp_path: Path, name: str) -> None:
    before = key(cell)

    if name == "day.csv":
        a_trace(tmp_path / name, jobs=5)
    else:
        (tmp_path / name).write_text(EDITS[name])

    assert key(cell) != before


def test_the_same_files_elsewhere_make_the_same_cell(cell: Cell, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved: dict[str, Any] = {}
    for name in ("trace", "policy", "profiles", "overhead", "cluster"):
        path = Path(getattr(cell, name))
        moved[name] = str(elsewhere / path.name)
        (elsewhere / path.name).write_bytes(path.read_bytes())

    assert key(replace(cell, **moved)) == key(cell)


@pytest.mark.parametrize(
    "change",
    [
        {"slot": 61.0},
        {"margin": 0.1},
        {"seed": 1},
        {"placement": "pack"},
        {"compat": "artifact"},
        {"policy": "edf"},
        {"cluster": "n8g8"},
        {"overhead": "none"},
    ],
    ids=str,
)
def test_another_parameter_makes_another_cell(change: dict[str, Any]) -> None:
    plain = Cell(trace="lab-200", policy="fifo")

    assert key(replace(plain, **change)) != key(plain)


@pytest.mark.parametrize(
    ("mended", "ours", "compat"),
    [
        ("policy/edf.py", True, True),
        ("sim/artifact/edf_loop.py", False, True),
        ("data/pollux/speeds.csv", False, True),
        ("lab/run.py", False, False),
    ],
)
def test_what_is_mended_makes_other_cells_where_it_decides(
    tmp_path: Path, mended: str, ours: bool, compat: bool
) -> None:
    files = (
        "policy/edf.py",
        "sim/loop.py",
        "sim/artifact/edf_loop.py",
        "data/pollux/speeds.csv",
        "lab/run.py",
    )
    for name in files:
        for state in ("before", "after"):
            path = tmp_path / state / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(state if name == mended else "as ever")

    before, after = tmp_path / "before", tmp_path / "after"
    assert (hash_of_source(False, before) != hash_of_source(False, after)) is ours
    assert (hash_of_source(True, before) != hash_of_source(True, after)) is compat


def test_another_version_of_tenuto_makes_another_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(Cell(trace="lab-200"))

    monkeypatch.setattr(tenuto, "__version__", "99.0")

    assert key(Cell(trace="lab-200")) != before


def test_an_alias_and_a_setting_at_its_usual_value_make_the_same_cell() -> None:
    named = Cell(trace="lab-200", policy="tiresias")
    settings = dict(Sources().policy_of(named).settings)
    name, value = next(iter(settings.items()))

    assert key(replace(named, policy="dlas-gpu")) == key(named)
    assert key(replace(named, settings=((name, value),))) == key(named)
    assert key(replace(named, settings=((name, value + 1),))) != key(named)


def test_what_cannot_go_together_is_refused() -> None:
    sources = Sources()

    for cell, words in (
        (Cell(trace="lab-200", policy="fifo", compat="artifact"), "fifo"),
        (Cell(trace="lab-200", margin=0.5, compat="artifact"), "--margin"),
        (Cell(trace="lab-200", cluster="n1g1"), "slots"),
        (
            Cell(trace="lab-200", policy="tiresias", compat="artifact", settings=(("first_limit", 1.0),)),
            "settings",
        ),
    ):
        with pytest.raises(InputInvalid, match=words):
            sources.check_together(cell)
