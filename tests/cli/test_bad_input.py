"""What cannot be replayed is refused in one sentence, with code 2, and nothing is written."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tenuto.cli.main import main

HEADER = "job_id,submission_time,duration,num_gpu,iteration,model_name,ddl,batch_size,best_effort"
GOOD = "{id},{id},3600,1,5000,resnet50,9000,128,0"
CLUSTER = "num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node"


def a_trace(*, header: str = HEADER, last: str = "", before: int = 1) -> str:
    """A trace of good jobs, with one last line of the test's own."""
    jobs = [GOOD.format(id=number) for number in range(before)]
    return "\n".join([header, *jobs, *([last] if last else [])]) + "\n"


def a_job(**changes: str) -> str:
    """The line of a good job, but for some columns."""
    cells = dict(zip(HEADER.split(","), GOOD.format(id="x").replace("x,x", "x,1").split(","), strict=True))
    assert changes.keys() <= cells.keys()
    return ",".join((cells | changes).values())


@dataclass(frozen=True)
class Bad:
    """An input, what the message must name, and what must be in it as a remedy."""

    names: tuple[str, ...]
    remedy: str
    trace: str = a_trace()
    options: tuple[str, ...] = ()
    cluster: str = ""


BAD = {
    "a missing column": Bad(
        ("größe.csv, line 1, column 'batch_size'", "no column for the batch"),
        "Name it batch_size or global_batch",
        trace=a_trace(header=HEADER.replace("batch_size", "bs")),
    ),
    "a negative duration": Bad(
        ("größe.csv, line 3, column 'duration'", "'-60'"),
        "Write a number above 0",
        trace=a_trace(last=a_job(duration="-60")),
    ),
    "an unknown model": Bad(
        ("größe.csv, line 3, column 'model_name'", "'resnet51'"),
        "They know bert, deepspeech2",
        trace=a_trace(last=a_job(model_name="resnet51")),
    ),
    "a batch size not in the profile": Bad(
        ("größe.csv, line 3, column 'batch_size'", "batch size 100 of resnet50"),
        "Use one of 64, 128, 256",
        trace=a_trace(last=a_job(batch_size="100")),
    ),
    "a job larger than the cluster": Bad(
        ("größe.csv, line 3, column 'num_gpu'", "asks for 16 slots, cluster n1g8 has 8"),
        "Choose a larger cluster with --cluster",
        trace=a_trace(last=a_job(num_gpu="16")),
        options=("--cluster", "n1g8"),
    ),
    "an empty file": Bad(
        ("größe.csv: the file is empty",), "Give a file with a header line", trace=""
    ),
    "no job": Bad(("größe.csv, line 1", "no row"), "Add at least one row", trace=HEADER),
    "a broken number far down": Bad(
        ("größe.csv, line 5731, column 'iteration'", "'12O0'"),
        "Write a plain number",
        trace=a_trace(before=5729, last=a_job(iteration="12O0")),
    ),
    "a raw log": Bad(
        ("größe.csv, line 1", "raw log"),
        "tenuto trace convert",
        trace="job_id,submission_time,duration,num_gpu\nä,100,3600,8\n",
    ),
    "a deadline before the submission": Bad(
        ("größe.csv, line 3, column 'ddl'", "'0'"),
        "Write the time by which the job must be done",
        trace=a_trace(last=a_job(ddl="0")),
    ),
    "an unknown policy": Bad(
        ("'elasticflo'",), "Did you mean elasticflow?", options=("--policy", "edf,elasticflo")
    ),
    "an unknown cluster": Bad(("'n16g'",), "Did you mean n16g", options=("--cluster", "n16g")),
    "an unknown profile": Bad(("'a1000'",), "Did you mean a100?", options=("--profiles", "a1000")),
    "profiles of another GPU": Bad(
        ("größe.csv, line 3, column 'model_name'", "'imagenet'", "a100 profiles"),
        "choose others with --profiles",
        trace=a_trace(last=a_job(model_name="imagenet", batch_size="3200")),
    ),
    "a cluster of two rows": Bad(
        ("zwei.csv, line 3, column 'num_switch'", "2 rows"),
        "Keep exactly one row",
        cluster=f"{CLUSTER}\n1,2,4,8,100\n1,4,4,8,100\n",
        options=("--cluster", "zwei.csv"),
    ),
    "an overhead file that is not JSON": Bad(
        ("größe.csv, line 1", "not JSON"),
        "Write seconds by number of slots",
        options=("--overhead", "größe.csv"),
    ),
    "no such overhead": Bad(("'nothing'",), "Use default, none, artifact", options=("--overhead", "nothing")),
    "no condition": Bad(("'met>5'",), "Write METRIC>=NUMBER", options=("--early-stop", "met>5")),
    "no picture": Bad(("bild.pdf",), "End the name in .png or .svg", options=("--picture", "bild.pdf")),
    "a picture below a file": Bad(
        ("größe.csv",), "Choose a directory", options=("--picture", "größe.csv/bild.png")
    ),
    "an endless slot": Bad(("--slot",), "Give a large number", options=("--slot", "inf")),
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_clear_error_and_nothing_is_written(
    bad: Bad, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "größe.csv").write_text(bad.trace, encoding="utf-8")
    if bad.cluster:
        (workplace / "zwei.csv").write_text(bad.cluster, encoding="utf-8")
    before = sorted(workplace.rglob("*"))

    monkeypatch.setattr(
        sys, "argv", ["tenuto", "replay", "größe.csv", "--out", "runs", "--json", *bad.options]
    )
    with pytest.raises(SystemExit) as ended:
        main()

    written = capsys.readouterr()
    assert ended.value.code == 2
    assert written.out == ""
    assert re.fullmatch(r"tenuto: [^\n]+\n", written.err)
    assert all(name in written.err for name in bad.names), written.err
    assert bad.remedy in written.err
    assert sorted(workplace.rglob("*")) == before


def test_a_mistyped_trace_is_recognised(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["tenuto", "replay", "lab-20", "--out", "runs"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(
        "tenuto: 'lab-20' is neither a file nor a known trace. Did you mean lab-200?"
    )


def test_one_bad_trace_among_good_ones_stops_them_all(
    workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workplace / "bad.csv").write_text(a_trace(last=a_job(duration="-60")), encoding="utf-8")

    monkeypatch.setattr(sys, "argv", ["tenuto", "replay", "lab-200", "bad.csv", "--out", "runs"])
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert capsys.readouterr().out == ""
    assert not (workplace / "runs").exists()
