"""`tenuto bench`: what is refused before anything is started, and one real measurement."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.errors import TenutoError


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("bench", *arguments))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("rescale", "--from", "1"), "--from is given 1 times and --to 0 times"),
        (("rescale", "--from", "2", "--to", "2"), "from 2 to 2 nothing changes"),
        (("rescale", "--model", "gpt2", "--parameters", "1M"), "both a model and a size are given"),
        (("rescale", "--parameters", "dużo"), "'dużo' is no number of parameters"),
        (("rescale", "--model", "gpt9"), "no workload is called 'gpt9'"),
        (("rescale", "--batch", "2"), "2 samples are too few for 4 workers"),
        (("scenario", "nie-ma.txt"), "nie-ma.txt: the scenario cannot be read"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_starts(
    arguments: tuple[str, ...], problem: str
) -> None:
    result = invoke(*arguments)

    assert isinstance(result.exception, TenutoError), result.output
    assert problem in str(result.exception)
    assert result.stdout == ""


def test_a_scenario_can_be_checked_without_playing_it(workplace: Path) -> None:
    (workplace / "scenariusz.txt").write_text(
        "2\nR 1 gpt2 8 a 2 1 0 ip 1 3 9 1 0 1\nT\nS\n", encoding="utf-8"
    )

    told = json.loads(invoke("scenario", "scenariusz.txt", "--check", "--json").stdout)

    assert told == {"nodes": 2, "slots": 2, "commands": {"Run": 1, "Begin": 1, "Stop": 1}}
    assert "2 nodes of 2 slots; 1 x Run" in invoke("scenario", "scenariusz.txt", "--check").stdout


@pytest.mark.big
def test_a_real_job_is_rescaled_and_every_pause_is_written(workplace: Path) -> None:
    pytest.importorskip("torch")
    pairs = ("--from", "1", "--to", "2", "--from", "2", "--to", "1")

    result = invoke(
        "rescale", *pairs, "--parameters", "10K", "--repeat", "1", "--out", "pomiary", "--json", "-q"
    )

    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert list(told["median_ms"]) == ["1→2", "2→1"]
    with (workplace / "pomiary" / "rescales.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["case"] for row in rows] == ["1→2", "2→1"]
    assert all(float(row["pause_ms"]) > 0 for row in rows)
    charged = json.loads((workplace / "pomiary" / "overhead.json").read_text(encoding="utf-8"))
    assert list(charged["rescale"]) == ["1", "2"]
    assert all(seconds > 0 for table in charged.values() for seconds in table.values())


@pytest.mark.big
def test_a_real_scenario_is_played_to_its_end(workplace: Path) -> None:
    pytest.importorskip("torch")
    lines = [
        "1",
        "R 0 ncf 8 a 1 1 0 ip 1 1 100000 1 0",
        "T",
        "R 0 ncf 8 a 2 1 0 ip 1 3 100000 0 0 1",
        "T",
        "S",
    ]
    (workplace / "s.txt").write_text("\n".join(lines), encoding="utf-8")

    result = invoke("scenario", "s.txt", "--json", "-q")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["seconds"] > 0
