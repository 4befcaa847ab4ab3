"""`tenuto trace`: what a user types, what appears, and that nothing is left half-written."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.trace import app
from tenuto.errors import InputInvalid
from tenuto.sim.read_trace import read_trace

LOG = """\
job_id,submission_time,duration,num_gpu
ä,100,3600,8
short,130,60,1
"""


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str) -> InputInvalid:
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, InputInvalid), result.output
    assert result.stdout == ""
    return result.exception


GENERATE = ("generate", "--jobs", "20", "--interarrival", "300")


def test_generate_prints_a_trace_and_nothing_else() -> None:
    result = run(*GENERATE, "--seed", "3")

    assert result.stdout.startswith("job_id,submitted,")
    assert len(result.stdout.splitlines()) == 21
    assert result.stderr == ""


def test_generate_writes_a_file_and_says_so_beside_the_output() -> None:
    result = run(*GENERATE, "-o", "tägliche.csv")

    assert result.stdout == ""
    assert result.stderr == "Wrote 20 jobs to tägliche.csv.\n"
    assert len(read_trace(Path("tägliche.csv"))) == 20


def test_generate_understands_the_references_options(workplace: Path) -> None:
    run(
        *(
            "generate",
            "--num_jobs",
            "100",
            "--lam=1500",
            "--min_ddl",
            "1.5",
            "--max_ddl",
            "1.5",
            "--seed",
            "1",
        ),
        *("--best_effort_percentage", "0", "--max_scale_factor", "16", "--output_file", "fig10.csv"),
        *("--form", "reference"),
    )

    checksum = hashlib.md5((workplace / "fig10.csv").read_bytes(), usedforsecurity=False).hexdigest()
    assert checksum == "989c168b3dffcb5038beec233de96431"


def test_the_references_options_are_not_advertised() -> None:
    assert "num_jobs" not in run("generate", "--help").stdout


def test_a_file_is_overwritten_only_with_force(workplace: Path) -> None:
    file = workplace / "taken.csv"
    file.write_text("precious")

    error = refused(*GENERATE, "--out", "taken.csv")
    assert "taken.csv: the file exists" in str(error)
    assert "--force" in error.remedy
    assert file.read_text() == "precious"

    run(*GENERATE, "--out", "taken.csv", "--force")
    assert len(read_trace(file)) == 20


IMPOSSIBLE = {
    "no jobs": ("generate", "--jobs", "0", "--interarrival", "1", "-o", "out.csv"),
    "unknown profiles": (*GENERATE, "--profiles", "a10", "-o", "out.csv"),
    "form that cannot carry it": (*GENERATE, "--best-effort", "1", "--form", "published", "-o", "out.csv"),
    "no such directory": (*GENERATE, "-o", "none/out.csv"),
    "convert: no such file": ("convert", "none.csv", "-o", "out.csv"),
    "convert: wrong share": ("convert", "log.csv", "--best-effort", "2", "-o", "out.csv"),
    "convert: not what it is said to be": ("convert", "log.csv", "--from", "pollux", "-o", "out.csv"),
    "convert: names of nobody": ("convert", "log.csv", "--names", "names.lst", "-o", "out.csv"),
    "convert: names nowhere": (
        *("convert", "log.csv", "--to", "chronus", "--names", "none/names.lst", "-o", "out.csv"),
    ),
    "convert: a trace nowhere": (
        *("convert", "log.csv", "--to", "chronus", "--names", "names.lst", "-o", "none/out.csv"),
    ),
    "convert: two files of one name": (
        *("convert", "log.csv", "--to", "chronus", "--names", "out.csv", "-o", "out.csv"),
    ),
    "describe: no such trace": ("describe", "lab-20", "--picture", "out.png"),
    "describe: no such cluster": ("describe", "lab-200", "--cluster", "n8", "--picture", "out.png"),
    "describe: no picture": ("describe", "lab-200", "--picture", "out.bmp"),
    "add: no such file": ("add", "name", "none.csv"),
    "add: no trace": ("add", "log.csv"),
}


@pytest.mark.parametrize("arguments", IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_is_refused_leaves_nothing_behind(workplace: Path, arguments: tuple[str, ...]) -> None:
    (workplace / "log.csv").write_text(LOG)

    error = refused(*arguments)

    assert error.remedy
    assert sorted(path.name for path in workplace.parent.rglob("*")) == ["arbeit", "log.csv"]


def test_convert_makes_a_trace_of_a_raw_log_and_counts_what_it_left_out(workplace: Path) -> None:
    (workplace / "log.csv").write_text(LOG, encoding="utf-8")

    result = run("convert", "log.csv", "--seed", "1", "-o", "trace.csv")

    assert read_trace(workplace / "trace.csv").ids == ("ä",)
    assert result.stderr == "Wrote 1 jobs to trace.csv.\nLeft out 1 jobs: 1 ran for less than 600 s.\n"


def test_convert_changes_the_form_of_a_trace_there_and_back(workplace: Path) -> None:
    run(*GENERATE, "-o", "ours.csv")
    run("convert", "ours.csv", "--form", "reference", "-o", "reference.csv")
    run("convert", "reference.csv", "--form", "published", "-o", "published.csv")
    run("convert", "published.csv", "-o", "again.csv")

    assert (workplace / "again.csv").read_bytes() == (workplace / "ours.csv").read_bytes()


def test_convert_writes_chronus_form_with_its_list_of_users_and_reads_it_again(workplace: Path) -> None:
    run(*GENERATE, "-o", "ours.csv")

    result = run("convert", "ours.csv", "--to", "chronus", "--names", "names.lst", "-o", "chronus.csv")
    run("convert", "chronus.csv", "--from", "chronus", "-o", "again.csv")

    assert result.stderr == "Wrote 20 jobs to chronus.csv.\n"
    assert (workplace / "names.lst").read_text().split() == [f"user{row}" for row in range(20)]
    assert (workplace / "again.csv").read_bytes() == (workplace / "ours.csv").read_bytes()


def test_convert_says_what_pollux_form_loses_and_what_is_put_in_its_place(workplace: Path) -> None:
    run(*GENERATE, "-o", "ours.csv")

    there = run("convert", "ours.csv", "--to", "pollux", "-o", "pollux.csv").stderr
    back = run("convert", "pollux.csv", "--from", "pollux", "-o", "again.csv").stderr

    assert "no place for ids and durations" in there
    assert back == "Wrote 20 jobs to again.csv.\nDurations are those of the a100 profiles.\n"
    assert (
        read_trace(workplace / "again.csv").steps.tolist()
        == read_trace(workplace / "ours.csv").steps.tolist()
    )


def test_describe_tells_what_a_trace_is_like() -> None:
    text = run("describe", "lab-200", "--cluster", "n8g8").stdout

    assert "200 within 13.4 h" in text
    assert "125% of 64 slots" in text


def test_describe_speaks_json_to_programs() -> None:
    described = json.loads(run("describe", "lab-200", "--cluster", "n8g8", "--json").stdout)

    assert (described["jobs"], described["best_effort_share"], described["cluster_slots"]) == (200, 0.2, 64)
    assert described["sizes"] == {"1": 158, "2": 3, "4": 10, "8": 26, "16": 3}


def test_describe_draws_beside_the_numbers(workplace: Path) -> None:
    pytest.importorskip("matplotlib")

    result = run("describe", "lab-200", "--json", "--picture", "bild.svg")

    assert json.loads(result.stdout)["jobs"] == 200
    assert result.stderr == "Drew bild.svg.\n"
    assert (workplace / "bild.svg").stat().st_size > 1000
    assert "bild.svg: the file exists" in str(refused("describe", "lab-200", "--picture", "bild.svg"))


def test_an_added_trace_is_listed_and_known_by_name(workplace: Path) -> None:
    run(*GENERATE, "-o", "ours.csv")

    added = json.loads(run("add", "größe", "ours.csv", "--json").stdout)

    listed = json.loads(run("list", "--json").stdout)
    assert [(entry["name"], entry["jobs"]) for entry in listed] == [
        ("demo-10", 10), ("größe", 20), ("lab-200", 200)
    ]  # fmt: skip
    assert listed[1] == added[0]
    assert "größe" in run("list").stdout
    assert json.loads(run("describe", "größe", "--json").stdout)["jobs"] == 20


def test_an_archive_is_added_with_its_counts(workplace: Path) -> None:
    run(*GENERATE, "-o", "ours.csv")
    with zipfile.ZipFile("traces.zip", "w") as archive:
        archive.write("ours.csv", "x/one.csv")
        archive.write("ours.csv", "x/two.csv")

    rows = [line.split()[:2] for line in run("add", "traces.zip").stdout.splitlines()]

    assert ["one", "20"] in rows
    assert ["two", "20"] in rows


def test_add_takes_a_name_and_a_file_at_most() -> None:
    result = CliRunner().invoke(app, ["add", "a", "b", "c"])

    assert result.exit_code == 2
    assert "give the FILE, or a NAME and the FILE" in result.stderr


@pytest.mark.parametrize("command", ["generate", "convert", "describe", "add", "list"])
def test_every_command_shows_an_example(command: str) -> None:
    assert f"Example: tenuto trace {command}" in run(command, "--help").stdout
