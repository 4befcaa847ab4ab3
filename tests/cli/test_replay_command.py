"""`tenuto replay`: what a user types, what appears, and what is written."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import tenuto
from tenuto.cli.main import app
from tenuto.errors import InputInvalid, Place
from tenuto.lab import replay as lab_replay
from tenuto.policy.registry import POLICIES
from tenuto.sim import artifact

Row = dict[str, Any]

KEYS = [
    "policy", "trace", "cluster", "slot", "compat", "deadline_jobs", "best_effort_jobs", "admitted",
    "declined", "met", "missed", "broken", "ratio", "mean_jct", "median_jct", "makespan", "mean_efficiency",
    "mean_allocated", "rounds", "cpu_s", "compile_s",
]  # fmt: skip
COUNTERS = re.compile(r"^accepted jobs: (\d+)\ndeclined jobs: (\d+)$", re.MULTILINE)

PROGRAM = (sys.executable, "-c", "from tenuto.cli.main import main; main()")
SOURCES = str(Path(tenuto.__file__).parents[1])

# The bundled trace on a cluster that is too small for it.
LAB = ("lab-200", "--cluster", "n8g8")


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("replay", *arguments))


def run(*arguments: str) -> Result:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def replays(*arguments: str) -> list[Row]:
    rows: list[Row] = json.loads(run(*arguments, "--json").stdout)
    return rows


def results(*arguments: str) -> list[Row]:
    """Everything but the seconds that it took."""
    return [
        {key: value for key, value in row.items() if key not in ("cpu_s", "compile_s")}
        for row in replays(*arguments)
    ]


def refused(*arguments: str) -> InputInvalid:
    result = invoke(*arguments)
    assert isinstance(result.exception, InputInvalid), result.output
    assert result.stdout == ""
    return result.exception


def a_trace(path: Path, *, jobs: int = 12) -> Path:
    lines = ["job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"]
    lines += [f"größe {k},{k * 60},20000,resnet50,{k * 60 + 7200},128,1,3600,0" for k in range(jobs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# What appears


def test_the_table_shows_every_number() -> None:
    text = run(*LAB).stdout
    [row] = replays(*LAB)

    words = text.split()
    for name in (
        "policy", "deadline", "jobs", "admitted", "declined", "met", "missed", "ratio", "mean", "median",
        "JCT", "makespan", "effi-", "ciency", "slots", "used", "CPU",
    ):  # fmt: skip
        assert name in words
    [line] = [line.split() for line in text.splitlines() if line.startswith("elasticflow ")]
    assert line[1:6] == [str(row[key]) for key in ("deadline_jobs", "admitted", "declined", "met", "missed")]
    assert line[6] == f"{row['ratio']:.3f}"
    assert line[10:12] == [f"{row['mean_efficiency']:.3f}", f"{row['mean_allocated']:.1f}"]
    assert len(line) == 13


def test_the_references_two_counters_close_the_output() -> None:
    [(accepted, declined)] = COUNTERS.findall(run(*LAB).stdout)
    [row] = replays(*LAB)

    assert int(accepted) == row["met"]
    assert int(accepted) + int(declined) == row["deadline_jobs"]


def test_each_of_several_replays_has_its_counters_under_its_name() -> None:
    text = run(*LAB, "--policy", "elasticflow,fifo").stdout

    assert re.findall(r"^lab-200, (\S+):$", text, re.MULTILINE) == ["elasticflow", "fifo"]
    assert [int(a) + int(b) for a, b in COUNTERS.findall(text)] == [160, 160]


@pytest.mark.parametrize("compat", [(), ("--compat", "artifact")], ids=["ours", "artifact"])
def test_programs_get_the_documented_keys_and_nothing_else(compat: tuple[str, ...]) -> None:
    result = run(*LAB, "--json", *compat)
    [row] = json.loads(result.stdout)

    assert list(row) == KEYS
    assert (row["policy"], row["trace"], row["cluster"], row["slot"]) == (
        "elasticflow",
        "lab-200",
        "n8g8",
        60,
    )
    assert row["compat"] == (compat[1] if compat else None)


@pytest.mark.parametrize("compat", [(), ("--compat", "artifact")], ids=["ours", "artifact"])
def test_every_job_is_counted_once(compat: tuple[str, ...]) -> None:
    for row in replays(*LAB, "--policy", "all", *compat):
        assert (row["deadline_jobs"], row["best_effort_jobs"]) == (160, 40)
        assert row["admitted"] + row["declined"] == row["deadline_jobs"]
        assert row["met"] + row["missed"] == row["admitted"]
        assert row["ratio"] == row["met"] / row["deadline_jobs"]


def test_no_promise_is_broken() -> None:
    rows = {row["policy"]: row for row in replays(*LAB, "--policy", "elasticflow,edf-admission")}

    assert [row["broken"] for row in rows.values()] == [0, 0]
    assert [row["missed"] for row in rows.values()] == [0, 0]


def test_verbose_tells_how_it_went() -> None:
    text = run(*LAB, "--verbose").stdout

    assert re.search(r"lab-200, elasticflow: [\d,]+ rounds, .* refused: \d+ deadline_infeasible", text)
    assert "promises broken: 0" in text


def test_quiet_writes_nothing_beside_the_result() -> None:
    assert run(*LAB, "--quiet").stderr == ""
    assert run(*LAB, "--quiet", "--json").stderr == ""


def test_a_bar_is_only_shown_to_somebody_who_watches() -> None:
    assert run(*LAB).stderr == ""


# Policies and traces


def test_all_means_every_policy() -> None:
    assert [row["policy"] for row in replays(*LAB, "--policy", "all")] == list(POLICIES)


def test_with_the_references_semantics_all_means_the_policies_that_it_has() -> None:
    rows = replays(*LAB, "--policy", "all", "--compat", "artifact")

    assert [row["policy"] for row in rows] == [name for name in POLICIES if name in artifact.POLICIES]


def test_an_alias_is_the_policy_and_nobody_runs_twice() -> None:
    rows = replays(*LAB, "--policy", "fifo, ef-accessctrl,elasticflow,fifo")

    assert [row["policy"] for row in rows] == ["fifo", "elasticflow"]


PATIENT = """
from dataclasses import dataclass
from tenuto.policy.base import Policy
from tenuto.policy.fifo import decide

@dataclass(frozen=True)
class Patient:
    limit: float = 5.0

    def __call__(self, snap):
        return decide(snap)

POLICY = Policy("patient", "Waits.", Patient(), promises=False)
"""


def test_a_file_is_a_policy_too(workplace: Path) -> None:
    (workplace / "mine.py").write_text(PATIENT)

    mine, fifo = results(*LAB, "--policy", "./mine.py,fifo")

    assert mine | {"policy": "fifo"} == fifo


MISTAKES = {
    "an exception": ("def decide(snap):\n    return snap.tomorrow\n", 2, "mine failed (AttributeError"),
    "too many arguments": ("def decide(snap, more):\n    return None\n", None, "mine failed (TypeError"),
    "no decision": ("def decide(snap):\n    return 3\n", None, "mine returned 3"),
    "an end": ("def decide(snap):\n    raise SystemExit(0)\n", 2, "mine failed (SystemExit"),
}


@pytest.mark.parametrize(("text", "line", "told"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_ones_own_policy_is_told_with_its_line(
    workplace: Path, text: str, line: int | None, told: str
) -> None:
    (workplace / "mine.py").write_text(text)

    problem = refused(*LAB, "--policy", "./mine.py")

    assert problem.problem.startswith(told)
    assert problem.place == Place(str(workplace / "mine.py"), line)


def test_a_mistake_in_one_of_ours_stays_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(lab_replay, "warm_up", fail)

    assert isinstance(invoke(*LAB, "--policy", "fifo").exception, ZeroDivisionError)


def test_what_is_set_is_told_in_the_title_and_in_the_manifest(workplace: Path) -> None:
    (workplace / "mine.py").write_text(PATIENT)

    text = run(*LAB, "--policy", "./mine.py,fifo", "--set", "patient.limit=7", "--out", "runs").stdout

    assert text.splitlines()[0].rstrip() == "lab-200 on n8g8, slot 60 s, patient.limit=7.0"
    set_to = {
        name: json.loads((workplace / f"runs/lab-200/{name}/manifest.json").read_text())["arguments"][
            "settings"
        ]
        for name in ("patient", "fifo")
    }
    assert set_to == {"patient": {"limit": 7.0}, "fifo": {}}


def test_several_traces_are_replayed_in_their_order(workplace: Path) -> None:
    a_trace(workplace / "größe.csv")

    rows = replays("größe.csv", *LAB, "--policy", "fifo,edf")

    assert [(row["trace"], row["policy"]) for row in rows] == [
        ("größe", "fifo"), ("größe", "edf"), ("lab-200", "fifo"), ("lab-200", "edf"),
    ]  # fmt: skip
    table = run("größe.csv", *LAB, "--policy", "fifo").stdout
    assert re.search(r"^größe +fifo +12 ", table, re.MULTILINE)
    assert re.search(r"^lab-200 +fifo +160 ", table, re.MULTILINE)


# Options that change the outcome


@pytest.mark.parametrize(
    "options",
    [(), ("--placement", "random", "--seed", "3"), ("--compat", "artifact")],
    ids=["default", "random placement", "artifact"],
)
def test_the_same_command_gives_the_same_results(options: tuple[str, ...]) -> None:
    command = (*LAB, "--policy", "elasticflow,edf", *options)

    assert results(*command) == results(*command)


@pytest.mark.parametrize("placement", ["pack", "spread", "random"])
def test_every_placement_keeps_the_promises(placement: str) -> None:
    [row] = replays(*LAB, "--placement", placement)

    assert row["met"] == row["admitted"] > 0


def test_changes_that_cost_nothing_let_more_deadlines_be_met() -> None:
    [usual], [free] = results(*LAB), results(*LAB, "--overhead", "none")

    assert free["met"] >= usual["met"]
    assert free != usual


def test_the_references_overhead_is_ours_on_a_small_cluster_and_dearer_on_a_large_one() -> None:
    assert results(*LAB, "--overhead", "artifact") == results(*LAB)

    large = ("lab-200", "--cluster", "n32g8")
    assert results(*large, "--overhead", "artifact") != results(*large)


def test_costs_can_be_measured_ones(workplace: Path) -> None:
    (workplace / "kosten.json").write_text('{"start": {"1": 6000, "8": 7000}}')

    [usual], [dear] = results(*LAB), results(*LAB, "--overhead", "kosten.json")

    assert dear["declined"] > usual["declined"]


def test_a_margin_makes_admission_careful() -> None:
    [usual], [careful] = results(*LAB), results(*LAB, "--margin", "0.5")

    assert careful["declined"] > usual["declined"]


def test_a_cluster_can_be_a_file(workplace: Path) -> None:
    (workplace / "haus.csv").write_text(
        "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node\n1,8,8,96,1000\n"
    )

    [filed], [named] = results("lab-200", "--cluster", "haus.csv"), results(*LAB)

    assert filed["cluster"] == "haus"
    assert filed | {"cluster": "n8g8"} == named


def test_it_stops_early_when_told_to() -> None:
    [whole], [part] = replays(*LAB), replays(*LAB, "--early-stop", "finished>=5")

    assert part["rounds"] < whole["rounds"]
    assert 1 <= part["met"] + part["missed"] <= 5


def test_jobs_that_never_came_were_not_declined() -> None:
    [part] = replays(*LAB, "--early-stop", "declined>=1")

    assert part["declined"] == 1


# The reference's semantics


def test_the_reference_keeps_fewer_deadlines_than_it_admits() -> None:
    [row] = replays(*LAB, "--compat", "artifact")

    assert row["compat"] == "artifact"
    assert 0 < row["met"] <= row["admitted"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--overhead", "none"), "--overhead"),
        (("--placement", "pack"), "--placement"),
        (("--margin", "0.1"), "--margin"),
        (("--early-stop", "met>=5"), "--early-stop"),
        (("--slot", "0"), "--slot"),
        (("--slot", "60.5"), "--slot"),
        (("--policy", "edf,fifo"), "fifo"),
        (("--set", "x=1"), "--set"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_the_reference_does_not_have_is_refused(options: tuple[str, ...], named: str) -> None:
    assert named in str(refused(*LAB, "--compat", "artifact", *options))


# Result files


def test_results_lie_below_a_directory_for_each_trace_and_policy(workplace: Path) -> None:
    a_trace(workplace / "größe.csv")

    run("größe.csv", *LAB, "--policy", "fifo,edf", "--out", "läufe/heute")

    found = sorted(str(path.parent.relative_to(workplace)) for path in workplace.rglob("manifest.json"))
    assert found == [
        f"läufe/heute/{trace}/{policy}" for trace in ("größe", "lab-200") for policy in ("edf", "fifo")
    ]


def test_the_manifest_repeats_the_command_and_its_result(workplace: Path) -> None:
    [row] = replays(*LAB, "--out", "runs", "--seed", "7", "--slot", "120", "--early-stop", "met>=3")

    manifest = json.loads((workplace / "runs/lab-200/elasticflow/manifest.json").read_text(encoding="utf-8"))
    assert manifest["summary"] == row
    assert manifest["arguments"] == {
        "cluster": "n8g8", "profiles": "a100", "placement": "buddy", "slot": 120.0, "overhead": "default",
        "margin": 0.0, "seed": 7, "compat": None, "early_stop": "met>=3", "settings": {},
    }  # fmt: skip


@pytest.mark.parametrize("compat", [(), ("--compat", "artifact")], ids=["ours", "artifact"])
def test_the_layout_of_slots_is_written_on_request(workplace: Path, compat: tuple[str, ...]) -> None:
    run(*LAB, "--out", "runs", "--gpu-layout", *compat)

    header = (workplace / "runs/lab-200/elasticflow/scheduling_events.csv").read_text().partition("\n")[0]
    assert header.split(",")[:2] == ["time", "gpu0-0"]
    assert len(header.split(",")) == 1 + 64 + 1


def test_earlier_results_are_overwritten_only_with_force(workplace: Path) -> None:
    run(*LAB, "--policy", "fifo", "--out", "runs")
    manifest = workplace / "runs/lab-200/fifo/manifest.json"
    manifest.write_text("precious")

    error = refused(*LAB, "--policy", "edf,fifo", "--out", "runs")
    assert "runs/lab-200/fifo" in str(error)
    assert "--force" in error.remedy
    assert manifest.read_text() == "precious"
    assert not (workplace / "runs/lab-200/edf").exists()

    run(*LAB, "--policy", "edf,fifo", "--out", "runs", "--force")
    assert json.loads(manifest.read_text())["summary"]["policy"] == "fifo"


def test_another_policy_may_join_earlier_results(workplace: Path) -> None:
    run(*LAB, "--policy", "fifo", "--out", "runs")
    run(*LAB, "--policy", "edf", "--out", "runs")

    assert sorted(path.name for path in (workplace / "runs/lab-200").iterdir()) == ["edf", "fifo"]


IMPOSSIBLE = {
    "layouts without a place": ("--gpu-layout",),
    "two pictures in one file": ("--picture", "bild.png", "--timeline", "bild.png"),
    "a seed that no kernel can hold": ("--seed", str(2**63), "--placement", "random"),
    "two traces in one picture": ("one.csv", "--picture", "bild.png"),
    "two traces of one name": ("other/lab-200.csv", "--out", "runs"),
    "results below a file": ("--out", "one.csv"),
    "a picture without a suffix": ("--picture", "bild"),
}


@pytest.mark.parametrize("options", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_cannot_be_written_is_refused_before_anything_is_replayed(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    monkeypatch.setattr(lab_replay, "simulate", pytest.fail)
    a_trace(workplace / "one.csv")
    (workplace / "other").mkdir()
    a_trace(workplace / "other" / "lab-200.csv")
    before = sorted(workplace.rglob("*"))

    assert refused(*LAB, *options).remedy
    assert sorted(workplace.rglob("*")) == before


@pytest.mark.parametrize("name", ["bild.png", "neu/bild.svg"])
def test_a_picture_is_drawn_beside_the_table(workplace: Path, name: str) -> None:
    pytest.importorskip("matplotlib")

    result = run(*LAB, "--policy", "elasticflow,fifo", "--picture", name)

    assert "accepted jobs" in result.stdout
    assert (workplace / name).stat().st_size > 5000


@pytest.mark.parametrize(("presses", "reached"), [(1, ["kernel done"]), (2, [])], ids=["once", "twice"])
def test_only_a_second_ctrl_c_ends_a_kernel(
    monkeypatch: pytest.MonkeyPatch, presses: int, reached: list[str]
) -> None:
    story: list[str] = []

    def simulate(*_: object, progress: Callable[[int, int], None], **__: object) -> None:
        for _press in range(presses):
            signal.raise_signal(signal.SIGINT)
        story.append("kernel done")
        progress(1, 200)
        story.append("next round")

    monkeypatch.setattr(lab_replay, "simulate", simulate)

    assert invoke(*LAB).exit_code == 130
    assert story == reached


def test_an_interrupted_replay_ends_at_once_and_leaves_nothing_behind(workplace: Path) -> None:
    generated = CliRunner().invoke(
        app, ["trace", "generate", "--jobs", "5000", "--interarrival", "60", "-o", "lang.csv"]
    )
    assert generated.exit_code == 0
    watched, shown = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, "replay", "lang.csv", "--policy", "all", "--out", "runs"],
        stdout=subprocess.PIPE,
        stderr=shown,
        env=os.environ | {"PYTHONPATH": SOURCES, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(shown)

    seen = read_until(watched, b"lang, elasticflow")
    program.send_signal(signal.SIGINT)
    seen += read_until(watched, None)
    stdout, _ = program.communicate()

    assert program.returncode == 130
    assert b"Traceback" not in seen
    assert stdout == b""
    assert not (workplace / "runs").exists()


def read_until(terminal: int, words: bytes | None) -> bytes:
    """What a program shows until some words appear, or until its end."""
    seen = b""
    while words is None or words not in seen:
        try:
            more = os.read(terminal, 4096)
        except OSError:  # the other side was closed
            break
        if not more:
            break
        seen += more
    return seen


def test_a_timeline_shows_every_policy_and_the_rest_goes_on_as_usual(workplace: Path) -> None:
    pytest.importorskip("matplotlib")
    run(*LAB, "--policy", "fifo,tiresias", "--timeline", "wer/wann.png")

    assert (workplace / "wer" / "wann.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("option", ["--picture", "--timeline"])
def test_a_picture_is_overwritten_only_by_force(workplace: Path, option: str) -> None:
    pytest.importorskip("matplotlib")
    (workplace / "bild.png").write_text("meins")

    refused = invoke(*LAB, "--policy", "fifo", option, "bild.png")
    assert isinstance(refused.exception, InputInvalid)
    assert (workplace / "bild.png").read_text() == "meins"

    run(*LAB, "--policy", "fifo", option, "bild.png", "--force")
    assert (workplace / "bild.png").read_bytes().startswith(b"\x89PNG")
