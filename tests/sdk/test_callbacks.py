"""Callbacks in loops that are not ours, driven as the frameworks document their hooks.

The loops below are those of Keras 3, Lightning 2 and Transformers 5, with the parts that call back and no others.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.sdk.disk import room_for
from tests.sdk.logs import records_in
from tests.sdk.waiting import GUARD

import tenuto
from tenuto.errors import InputInvalid
from tenuto.sdk import callbacks
from tenuto.sdk.run import Run


def install(monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> type:
    """A framework with nothing in it but the class that callbacks inherit."""
    base = type(name, (), {"is_the_frameworks_own": True})
    for length in range(1, len(module.split(".")) + 1):
        part = ".".join(module.split(".")[:length])
        monkeypatch.setitem(sys.modules, part, ModuleType(part))
    setattr(sys.modules[module], name, base)
    return base


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = tenuto.init(report_every=5, checkpoint_dir=tmp_path / "größe", log_dir=tmp_path / "log")
    yield run
    with contextlib.suppress(SystemExit):  # where it was told to go
        run.finish()


class KerasModel:
    """As `fit` sees a model."""

    def __init__(self) -> None:
        self.stop_training = False
        self.optimizer = SimpleNamespace(iterations=0)

    def save(self, path: Path) -> None:
        path.write_text(f"model after {self.optimizer.iterations}", encoding="utf-8")

    def fit(self, callback: Any, steps: int, stop_at: int | None = None) -> None:
        callback.model = self
        callback.on_train_begin()
        for batch in range(steps):
            self.optimizer.iterations += 1
            if self.optimizer.iterations == stop_at:
                callback.run.context.stop.ask()
            callback.on_train_batch_end(batch, {"loss": 1 / self.optimizer.iterations, "größe": 2})
            if self.stop_training:
                return


def test_keras_reports_every_step(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    base = install(monkeypatch, "keras.callbacks", "Callback")
    callback = callbacks.keras(run)

    KerasModel().fit(callback, steps=20)
    run.context.teller.flush(GUARD)

    assert isinstance(callback, base)
    told = records_in(tmp_path / "log")
    assert [record["step"] for record in told] == [5, 10, 15, 20]
    assert told[1]["values"] == {"loss": 0.1, "größe": 2}


def test_keras_is_found_in_tensorflow_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keras.callbacks", None)
    base = install(monkeypatch, "tensorflow.keras.callbacks", "Callback")

    assert isinstance(callbacks.keras(run), base)


def test_keras_stops_when_told_to_and_goes_on_from_its_checkpoint(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch, "keras.callbacks", "Callback")
    model = KerasModel()

    model.fit(callbacks.keras(run, checkpoint_every=8), steps=20, stop_at=13)

    assert model.optimizer.iterations == 13
    found = callbacks.newest(run, callbacks.KERAS_FILE)
    assert found is not None
    assert found.read_text(encoding="utf-8") == "model after 13"
    with pytest.raises(SystemExit) as ended:
        run.finish()
    assert ended.value.code == 143
    told = [record for record in records_in(tmp_path / "log") if record["kind"] == "checkpoint"]
    assert [(record["step"], record["why"]) for record in told] == [(8, "every"), (13, "stop")]

    again = tenuto.init()
    loaded = KerasModel()
    loaded.optimizer.iterations = 13
    loaded.fit(callbacks.keras(again), steps=7)
    assert again.step == 20
    again.finish()


class LightningTrainer:
    """As Lightning's fit loop calls back; a step is taken after so many batches."""

    def __init__(self, accumulate: int = 1) -> None:
        self.global_step = 0
        self.should_stop = False
        self.accumulate = accumulate
        self.callback_metrics: dict[str, Any] = {}

    def save_checkpoint(self, path: Path) -> None:
        path.write_text(f"state after {self.global_step}", encoding="utf-8")

    def fit(self, callback: Any, batches: int, stop_at: int | None = None) -> None:
        for batch in range(1, batches + 1):
            if batch % self.accumulate == 0:
                self.global_step += 1
            self.callback_metrics = {"train_loss": 1 / batch}
            if self.global_step == stop_at:
                callback.run.context.stop.ask()
            callback.on_train_batch_end(self, object(), outputs=None, batch=None, batch_idx=batch - 1)
            if self.should_stop:
                return


@pytest.mark.parametrize("module", ["lightning.pytorch.callbacks", "pytorch_lightning.callbacks"])
def test_lightning_counts_steps_and_not_batches(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, module: str
) -> None:
    monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", None)
    base = install(monkeypatch, module, "Callback")
    callback = callbacks.lightning(run, checkpoint_every=4)

    LightningTrainer(accumulate=2).fit(callback, batches=20)
    run.context.teller.flush(GUARD)

    assert isinstance(callback, base)
    told = records_in(tmp_path / "log")
    assert [record["step"] for record in told if record["kind"] == "step"] == [5, 10]
    assert [record["step"] for record in told if record["kind"] == "checkpoint"] == [4, 8]


def test_lightning_stops_when_told_to_and_does_not_look_done(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, "lightning.pytorch.callbacks", "Callback")
    trainer, callback = LightningTrainer(), callbacks.lightning(run)

    trainer.fit(callback, batches=20, stop_at=7)
    leaving = SystemExit()  # as Lightning raises on SIGTERM
    callback.on_exception(trainer, object(), leaving)

    assert (trainer.global_step, leaving.code) == (7, 143)
    found = callbacks.newest(run, callbacks.LIGHTNING_FILE)
    assert found is not None
    assert found.read_text(encoding="utf-8") == "state after 7"


def test_every_rank_takes_part_in_a_checkpoint_of_lightning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, "lightning.pytorch.callbacks", "Callback")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    run = tenuto.init(checkpoint_dir=tmp_path)
    saved: list[Path] = []
    trainer = LightningTrainer()
    monkeypatch.setattr(trainer, "save_checkpoint", saved.append)

    trainer.fit(callbacks.lightning(run, checkpoint_every=2), batches=5)
    run.finish()

    assert len(saved) == 2
    assert callbacks.newest(run) is None  # the first rank writes


def test_hugging_face_reports_what_it_logs_and_saves_by_itself(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = install(monkeypatch, "transformers", "TrainerCallback")
    callback = callbacks.huggingface(run)
    state = SimpleNamespace(global_step=0, log_history=[])
    control = SimpleNamespace(should_save=False, should_training_stop=False)

    for step in range(1, 21):
        state.global_step = step
        if step == 17:
            run.context.stop.ask()
        callback.on_step_end(SimpleNamespace(), state, control, model=None, optimizer=None)
        if control.should_training_stop:
            break
        if step % 5 == 0:
            state.log_history.append({"loss": 1 / step, "epoch": 0.5, "step": step})

    run.context.teller.flush(GUARD)
    assert isinstance(callback, base)
    assert (state.global_step, control.should_save, control.should_training_stop) == (17, True, True)
    told = records_in(tmp_path / "log")
    assert [(record["step"], record["values"]) for record in told] == [
        (5, {}),
        (10, {"loss": 0.2, "epoch": 0.5}),
        (15, {"loss": 0.1, "epoch": 0.5}),
    ]


def test_a_full_disk_ends_no_loop(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, "keras.callbacks", "Callback")
    model = KerasModel()
    run.context.teller.flush(GUARD)

    with room_for(5):
        model.fit(callbacks.keras(run, checkpoint_every=4), steps=10)
    run.context.teller.flush(GUARD)

    assert model.optimizer.iterations == 10
    assert callbacks.newest(run) is None
    told = [record for record in records_in(tmp_path / "log") if record["kind"] == "checkpoint"]
    assert {record["problem"] for record in told} <= {
        f"checkpoint of step {step}: File too large" for step in (4, 8)
    }


@pytest.mark.parametrize("make", [callbacks.keras, callbacks.lightning, callbacks.huggingface])
def test_a_framework_that_is_not_there_is_named(make: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (
        "keras.callbacks", "tensorflow.keras.callbacks", "lightning.pytorch.callbacks",
        "pytorch_lightning.callbacks", "transformers",
    ):  # fmt: skip
        monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(InputInvalid, match="is not installed here"):
        make(run)


def test_without_a_checkpoint_directory_there_is_no_newest() -> None:
    run = tenuto.init()

    assert callbacks.newest(run) is None
    run.finish()
