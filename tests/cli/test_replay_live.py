"""`tenuto replay --live`: what a user types, what is told, and what is refused."""

from __future__ import annotations

import csv
import json
import signal
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.errors import InputInvalid, Unreachable
from tenuto.rehearsal.fast_forward import FastForward
from tenuto.rehearsal.walk import Walk

DEMO = ("--live", "demo-10", "--cluster", "n1g8")
HEADER = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("replay", *arguments))


def refused(*arguments: str) -> str:
    result = invoke(*arguments)
    assert isinstance(result.exception, InputInvalid), result.output
    return str(result.exception)


class TestInFastForward:
    def test_both_tell_the_same_job_by_job(self) -> None:
        result = invoke(*DEMO, "--policy", "elasticflow,gandiva", "--slot", "600", "--json")

        assert result.exit_code == 0, result.output
        told: list[dict[str, Any]] = json.loads(result.stdout)
        assert [one["policy"] for one in told] == ["elasticflow", "gandiva"]
        for one in told:
            assert one["same"] and one["differences"] == []
            assert all(job["live"] == job["simulated"] for job in one["items"])
        assert {job["live"]["verdict"] for job in told[0]["items"]} == {"accepted", "declined"}

    def test_a_table_says_so_in_a_word(self, workplace: Path) -> None:
        result = invoke(*DEMO, "--fast-forward", "--policy", "fifo", "--overhead", "none", "--out", "běhy")

        assert result.exit_code == 0, result.output
        assert result.stdout.splitlines()[-1].split()[-1] == "none"
        with (workplace / "běhy" / "demo-10" / "fifo" / "live.csv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 10
        assert all(row["finished_live"] == row["finished_simulated"] for row in rows)
        assert (workplace / "běhy" / "demo-10" / "fifo" / "manifest.json").exists()

    def test_a_difference_is_told_with_where_it_begins_and_by_the_exit_code(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        walks = FastForward.walks

        def otherwise(self: FastForward) -> list[Walk]:
            first, *others = walks(self)
            return [replace(first, finished=12.5), *others]

        monkeypatch.setattr(FastForward, "walks", otherwise)

        result = invoke(*DEMO, "--policy", "fifo")

        assert result.exit_code == 1
        assert "1 of 10 jobs differ" in result.stdout
        assert "They part at 12.500 s: job 0 ends at" in result.stdout

    def test_ctrl_c_ends_it_and_leaves_nothing_behind(
        self, workplace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (workplace / "tmp").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(workplace / "tmp"))
        go_on = FastForward.jump

        def jump(self: FastForward, then: float) -> None:
            go_on(self, then)
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(FastForward, "jump", jump)

        assert invoke(*DEMO, "--out", "runs").exit_code == 130
        assert list((workplace / "tmp").iterdir()) == []
        assert not (workplace / "runs").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--compat", "artifact"), ("--compat", "Leave --compat out")),
        (("--timeline", "t.svg"), ("--timeline", "simulator alone")),
        (("--early-stop", "missed>=1"), ("--early-stop",)),
        (("--overhead", "default"), ("one number of seconds for a start", "--overhead 5,3")),
        (("--overhead", "artifact"), ("one number of seconds",)),
        (("--fast-forward", "--speedup", "10"), ("--speedup is wall time",)),
        (("--local",), ("--local is for wall time",)),
        (("--server", "http://here:1"), ("--server is for wall time",)),
        (("--speedup", "0"), ("above 0",)),
        (("--speedup", "-3"), ("above 0",)),
        (("--speedup", "inf"), ("above 0",)),
        (("--speedup", "60", "--local", "--policy", "fifo,edf"), ("one policy",)),
        (("--speedup", "60", "--local", "lab-200"), ("one trace",)),
        (("--speedup", "60", "--local", "--shared", "nowhere"), ("no directory",)),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_played_is_refused_in_plain_words(
    options: Sequence[str], words: Sequence[str], workplace: Path
) -> None:
    told = refused(*DEMO, *options)

    assert all(word in told for word in words), told
    assert list(workplace.iterdir()) == []


@pytest.mark.parametrize("option", [("--fast-forward",), ("--speedup", "10"), ("--local",)])
def test_options_of_the_live_platform_want_the_word_live(option: tuple[str, ...]) -> None:
    assert "add --live" in refused("demo-10", *option)


def test_a_job_that_nobody_could_submit_is_named_with_its_line(workplace: Path) -> None:
    (workplace / "pozdě.csv").write_text(f"{HEADER}\n0,0,5000,resnet50,1e10,128,1,300,0\n", "utf-8")

    told = refused("--live", "pozdě.csv")

    assert "pozdě.csv, line 2" in told
    assert "takes no such job: deadline" in told


def test_nodes_of_this_machine_have_equal_slots(workplace: Path) -> None:
    (workplace / "ungleich.yaml").write_text("nodes:\n- {slots: 8}\n- {slots: 4}\n", "utf-8")

    told = refused("--live", "demo-10", "--speedup", "100", "--local", "--cluster", "ungleich.yaml")

    assert "equal nodes" in told


def test_a_server_that_was_named_and_does_not_answer_is_not_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TENUTO_TOKEN", "no-key")

    result = invoke("--live", "demo-10", "--speedup", "60", "--server", "http://127.0.0.1:9")

    assert isinstance(result.exception, Unreachable)
