"""A script's five lines, alone; and that what only observes can never stop it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.sdk.disk import room_for
from tests.sdk.logs import records_in
from tests.sdk.waiting import GUARD
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import tenuto
from tenuto.errors import InputInvalid
from tenuto.wire import membership

README = Path(__file__).parents[2] / "README.md"


class Endless(IterableDataset[int]):
    """Its samples come one after another, and have no numbers."""

    def __len__(self) -> int:
        return 100

    def __iter__(self) -> Iterator[int]:
        return iter(range(100))


def dataset(samples: int = 600) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, 8, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long())


def train(run: tenuto.Run, **options: Any) -> nn.Module:
    torch.manual_seed(0)
    model: nn.Module = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, batches = run.elastic(model, optimizer, dataset(), **options)
    for x, y in batches:
        loss = functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(loss=loss)
    return model


def test_the_snippet_of_the_readme_runs_as_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = re.findall(
        r"```python\n(.*?tenuto\.init.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    model = nn.Linear(8, 2)
    before = model.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    exec(snippet, {"model": model, "optimizer": optimizer, "dataset": dataset(), "functional": functional})

    assert capsys.readouterr().out == "600 samples, each once in each of 3 epochs, over 1 generation\n"
    assert not torch.equal(model.weight, before)


def test_the_same_run_twice_has_the_same_result() -> None:
    first, second = tenuto.init(seed=4), tenuto.init(seed=4)
    weights = [train(run, global_batch=64, epochs=2).state_dict() for run in (first, second)]
    first.finish()
    second.finish()

    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_finished_run_leaves_checkpoint_summary_export_and_log(tmp_path: Path) -> None:
    run = tenuto.init(checkpoint_dir=tmp_path / "größe", log_dir=tmp_path / "log")

    model = train(run, global_batch=60, checkpoint_every=4)
    sentence = run.finish(model, export=tmp_path / "export")

    assert sentence == "600 samples, each once, over 1 generation"
    summary = json.loads((tmp_path / "größe" / "summary.json").read_text(encoding="utf-8"))
    assert (summary["samples"], summary["steps"], summary["each_once"]) == (600, 10, True)
    assert (tmp_path / "export" / "model.safetensors").is_file()
    assert [path.name[-3:] for path in sorted((tmp_path / "größe").glob("step-*"))][-1] == "010"
    told = records_in(tmp_path / "log")
    assert [record["seq"] for record in told] == list(range(len(told)))
    assert [record["step"] for record in told if record["kind"] == "step"] == [10]
    assert [record["sentence"] for record in told if record["kind"] == "summary"] == [sentence]


@pytest.mark.parametrize(
    ("environment", "options", "steps", "batch"),
    [
        ({}, {"global_batch": 60}, 10, 60),
        ({}, {"global_batch": 60, "epochs": 3}, 30, 60),
        ({}, {"global_batch": 60, "steps": 7}, 7, 60),
        ({"TENUTO_STEPS": "5"}, {"global_batch": 60}, 5, 60),
        ({"TENUTO_STEPS": "50"}, {"global_batch": 60}, 50, 60),
        ({"TENUTO_STEPS": "50"}, {"global_batch": 60, "steps": 7}, 7, 60),
        ({"TENUTO_STEPS": "5"}, {"global_batch": 60, "steps": 7}, 5, 60),
        ({"TENUTO_STEPS": "5"}, {"global_batch": 60, "epochs": 3}, 5, 60),
        ({"TENUTO_GLOBAL_BATCH": "100"}, {"global_batch": 60}, 6, 100),
        ({"TENUTO_GLOBAL_BATCH": "100"}, {}, 6, 100),
    ],
)
def test_how_long_a_run_is_and_how_large_its_batch(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    options: dict[str, Any],
    steps: int,
    batch: int,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    run = tenuto.init()
    model = nn.Linear(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    model, optimizer, batches = run.elastic(model, optimizer, dataset(), **options)
    sizes = []
    for x, y in batches:
        sizes.append(len(x))
        functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    assert (len(sizes), sizes[0], run.step) == (steps, batch, steps)
    run.finish()


BAD: list[tuple[dict[str, Any], str]] = [
    ({}, "global_batch"),
    ({"global_batch": 0}, "global_batch"),
    ({"global_batch": 8, "epochs": 1, "steps": 1}, "epochs"),
    ({"global_batch": 8, "steps": -1}, "steps"),
    ({"global_batch": 8, "most_per_worker": 0}, "most_per_worker"),
    ({"global_batch": 8, "checkpoint_every": 0}, "checkpoint_every"),
    ({"global_batch": 8, "dataset": []}, "dataset"),
    ({"global_batch": 8, "dataset": iter([1])}, "dataset"),
]


@pytest.mark.parametrize(("options", "field"), BAD)
def test_what_makes_no_sense_is_named_before_anything_begins(options: dict[str, Any], field: str) -> None:
    run = tenuto.init()
    model = nn.Linear(8, 2)
    given = {"dataset": dataset(), **options}

    with pytest.raises(InputInvalid) as refused:
        run.elastic(model, torch.optim.SGD(model.parameters(), lr=0.1), **given)

    assert refused.value.field == field
    assert refused.value.remedy
    run.finish()


@pytest.mark.parametrize("option", ["report_every", "keep_checkpoints"])
def test_counts_of_init_begin_at_one(option: str) -> None:
    with pytest.raises(InputInvalid, match=option):
        tenuto.init(**{option: 0})  # type: ignore[arg-type]


def test_a_run_trains_one_model() -> None:
    run = tenuto.init()
    train(run, global_batch=600)

    with pytest.raises(InputInvalid, match="twice"):
        train(run, global_batch=600)
    run.finish()


def test_in_a_loop_of_its_own_a_script_counts_by_reporting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_REPORT", str(tmp_path / "report"))
    monkeypatch.setenv("TENUTO_STEPS", "50")
    monkeypatch.setenv("TENUTO_PARAMS", '{"größe": 3}')
    run = tenuto.init(log_dir=tmp_path / "log")
    for step in range(1, 51):
        run.report(loss=1 / step, samples=64 * step)
    run.finish()

    assert [record["step"] for record in records_in(tmp_path / "log")] == [10, 20, 30, 40, 50]
    assert json.loads((tmp_path / "report").read_text(encoding="utf-8")) == {
        "loss": 0.02,
        "step": 50,
        "total": 50,
    }
    assert (run.step, run.rank, run.world, run.is_leader, run.params) == (50, 0, 1, True, {"größe": 3})
    assert "global_step: 50 samples_per_sec: " in next((tmp_path / "log").glob("*.txt")).read_text(
        encoding="utf-8"
    )


def test_without_a_place_to_write_to_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = tenuto.init()
    for _ in range(20):
        run.report(loss=0.5)
    run.finish()

    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_stops_no_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tenuto.init(checkpoint_dir=tmp_path / "c", log_dir=tmp_path / "log")
    with room_for(0):
        model = train(run, global_batch=60, checkpoint_every=2)
        sentence = run.finish(model)

    assert sentence == "600 samples, each once, over 1 generation"
    assert capsys.readouterr().out == f"{sentence}\n"
    assert list((tmp_path / "c").glob("step-*")) == []


def test_a_checkpoint_that_found_no_room_is_told_as_a_record(tmp_path: Path) -> None:
    run = tenuto.init(checkpoint_dir=tmp_path / "c", log_dir=tmp_path / "log")
    with room_for(4000):  # a log of some lines, but no state
        model = train(run, global_batch=60)
        run.finish(model)

    told = [record for record in records_in(tmp_path / "log") if record["kind"] == "checkpoint"]
    assert len(told) == 1
    assert re.match("checkpoint of step 10: .*File too large", told[0]["problem"])


def test_unwritable_directories_stop_no_training_and_are_told_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_bytes(b"")
    run = tenuto.init(checkpoint_dir=tmp_path / "file" / "c", log_dir=tmp_path / "file" / "log")

    model = train(run, global_batch=60, checkpoint_every=2)

    assert run.finish(model) == "600 samples, each once, over 1 generation"
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 1
    assert re.match("tenuto: the checkpoint of step .* was not written to .*: Not a directory", told[0])


@pytest.mark.parametrize(
    ("given", "field", "sentence"),
    [
        ({"dataset": DataLoader(dataset(), batch_size=8)}, "dataset", "was given a DataLoader"),
        ({"dataset": Endless()}, "dataset", "has no length"),
        ({"dataset": iter([])}, "dataset", "has no length"),
        ({"model": 3}, "model", "is of type int, which has no state_dict and no parameters"),
        ({"optimizer": torch.nn.Linear(4, 2)}, "optimizer", "is of type Linear, which has no step"),
        ({"global_batch": "8"}, "global_batch", "global_batch is '8'"),
    ],
)
def test_a_mistaken_argument_is_told_as_what_it_is(given: dict[str, Any], field: str, sentence: str) -> None:
    model = torch.nn.Linear(4, 2)
    right = {"model": model, "optimizer": torch.optim.SGD(model.parameters()), "dataset": dataset()}

    with pytest.raises(InputInvalid, match=sentence) as refused:
        tenuto.init().elastic(**{**right, "global_batch": 8, **given})

    assert refused.value.field == field


def test_a_script_without_torch_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenuto.sdk.pytorch.session", None)
    run = tenuto.init()

    with pytest.raises(InputInvalid, match=r"needs .* not installed") as told:
        train(run, global_batch=60)

    assert "tenuto[torch]" in told.value.remedy


def test_to_finish_twice_is_to_finish_once(capsys: pytest.CaptureFixture[str]) -> None:
    run = tenuto.init()
    model = train(run, global_batch=60)

    assert run.finish(model) == run.finish(model) != ""
    assert len(capsys.readouterr().out.splitlines()) == 1


UNFINISHED = """
import tenuto, torch
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters())
_, _, batches = tenuto.init().elastic(model, optimizer, torch.zeros(4, 1), global_batch=2)
for _ in batches:
    pass
"""


def test_a_script_that_forgets_to_finish_is_told() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", UNFINISHED], capture_output=True, text=True, check=True, timeout=GUARD
    )

    assert ended.stdout == ""
    assert ended.stderr == "tenuto: run.finish(model) was not called: no last checkpoint, no summary\n"


def test_a_link_without_room_for_records_and_a_dead_bell_stop_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "größe.1.worker.0" / "link"
    link.mkdir(parents=True)
    (link / membership.STEPS).write_bytes(b"a file where a directory should be")
    os.mkfifo(tmp_path / "bell")
    monkeypatch.setenv("TENUTO_LINK", str(link))
    monkeypatch.setenv("TENUTO_BELL", str(tmp_path / "bell"))
    monkeypatch.setenv("TENUTO_WORKER", "größe.1.worker.0")
    run = tenuto.init()

    for _ in range(30):
        run.report(loss=0.5)
    assert not run.context.teller.flush(GUARD)

    run.finish()


FORKED = """
import os, tenuto
run = tenuto.init(report_every=1)
run.report(loss=0.5)
if os.fork():
    os.wait()
"""


def test_a_child_that_the_script_forks_tells_nothing_twice(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-c", FORKED],
        env={**os.environ, "TENUTO_LOG_DIR": str(tmp_path)},
        check=True,
        timeout=GUARD,
    )

    assert [record["seq"] for record in records_in(tmp_path)] == [0]


STOPPED = """
import os, signal, sys, tenuto
run = tenuto.init()
run.context.stop.listen()
while not run.should_stop:
    run.report(loss=0.5)
    if run.step == 3:
        os.kill(os.getpid(), signal.SIGTERM)
run.finish()
"""


def test_a_loop_that_ends_because_it_was_told_to_exits_as_drained(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "TENUTO_REPORT": str(tmp_path / "report"),
        "TENUTO_LOG_DIR": str(tmp_path / "log"),
    }

    ended = subprocess.run([sys.executable, "-c", STOPPED], env=environment, check=False, timeout=GUARD)

    assert ended.returncode == 143
    assert json.loads((tmp_path / "report").read_text(encoding="utf-8"))["step"] == 3


def test_what_was_told_is_on_disk_also_when_a_script_just_ends(tmp_path: Path) -> None:
    program = "import tenuto\nrun = tenuto.init(report_every=1)\nrun.report(loss=0.5)\nraise SystemExit(143)"

    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TENUTO_LOG_DIR": str(tmp_path)},
        check=False,
        timeout=GUARD,
    )

    assert ended.returncode == 143
    assert [record["step"] for record in records_in(tmp_path)] == [1]
