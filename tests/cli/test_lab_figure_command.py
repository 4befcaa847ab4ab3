"""`tenuto lab figure`: what a user types, what appears, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.errors import InputInvalid
from tenuto.lab.figures.catalogue import FIGURES

pytest.importorskip("matplotlib")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("lab", "figure", *arguments))


def refused(*arguments: str) -> InputInvalid:
    result = invoke(*arguments)
    assert isinstance(result.exception, InputInvalid), result.output
    assert result.stdout == ""
    return result.exception


def test_without_its_trace_a_figure_is_drawn_empty_and_the_user_told(workplace: Path) -> None:
    result = invoke("6b", "7", "--quiet")

    assert result.exit_code == 0, result.output
    assert result.stderr.count("the trace 195job is not there") == 1
    assert "tenuto trace add 195job.csv" in result.stderr
    assert "not there: 195job" in result.stdout
    assert {path.name for path in (workplace / "figures").glob("figure-*")} == {
        f"figure-{name}{suffix}" for name in ("6b", "7a", "7b") for suffix in (".csv", ".png", ".svg")
    }


def test_json_is_all_that_is_printed(workplace: Path) -> None:
    result = invoke("8(A)", "--out", "bilder", "--compat", "artifact", "--json", "-q")

    (row,) = json.loads(result.stdout)
    assert row["figure"] == "8a"
    assert row["missing"] == ["elasticVpollux_e"]
    assert row["files"][0] == str(Path("bilder") / "figure-8a-artifact.csv")
    assert (workplace / row["files"][0]).is_file()


def test_policies_can_be_left_out(workplace: Path) -> None:
    result = invoke("10", "-q", *(f"--without={name}" for name in FIGURES["10"].policies if name != "edf"))

    assert result.exit_code == 0, result.output
    assert len(list((workplace / "figures" / "cells").iterdir())) == 1
    assert (workplace / "figures" / "traces" / "figure-10.csv").is_file()


@pytest.mark.parametrize(("typed", "meant"), [("11a", "11"), ("9b", "9")])
def test_an_unknown_figure_is_refused_with_a_guess(typed: str, meant: str) -> None:
    error = refused(typed)

    assert typed in error.problem
    assert f"Did you mean {meant}?" in error.remedy


def test_a_policy_that_is_in_no_figure_cannot_be_left_out() -> None:
    assert "Did you mean pollux?" in refused("8a", "--without", "polux").remedy


def test_what_everything_is_relative_to_cannot_be_left_out() -> None:
    assert "figure 11" in refused("11", "--without", "gandiva").problem


def test_a_wrong_directory_of_data_is_refused(workplace: Path) -> None:
    assert "not a directory" in refused("8a", "--data", "nowhere").problem
    assert list(workplace.iterdir()) == []
