"""The observing half for loops that are not ours: Keras `fit`, Lightning, Hugging Face's Trainer.

Each reports every step, ends the loop when the worker is told to go, and keeps a checkpoint then and at intervals. The
framework's own class is looked up when a callback is made, so that this file needs none of them.

    model.fit(x, y, callbacks=[tenuto.sdk.callbacks.keras(run)])
    lightning.Trainer(callbacks=[tenuto.sdk.callbacks.lightning(run)])
    transformers.Trainer(..., callbacks=[tenuto.sdk.callbacks.huggingface(run)])

A rescale restarts such a program from its checkpoint: `newest(run)` says where that is. After a loop that ended because
the worker was told to go, `run.finish()` exits with 143: drained, not done.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.sdk.run import Run
from tenuto.sdk.stopping import EXIT_DRAINED
from tenuto.wire import records

KERAS_FILE = "model.keras"
LIGHTNING_FILE = "lightning.ckpt"


def keras(run: Run, *, checkpoint_every: int | None = None) -> Any:
    """For `model.fit(callbacks=[…])`; a checkpoint is the whole model, for `keras.models.load_model`."""
    return _made(_Keras, ("keras.callbacks", "tensorflow.keras.callbacks"), "Callback", run, checkpoint_every)


def lightning(run: Run, *, checkpoint_every: int | None = None) -> Any:
    """For `Trainer(callbacks=[…])`; a checkpoint is Lightning's own, for `fit(ckpt_path=…)`."""
    modules = ("lightning.pytorch.callbacks", "pytorch_lightning.callbacks")
    return _made(_Lightning, modules, "Callback", run, checkpoint_every)


def huggingface(run: Run) -> Any:
    """For `Trainer(callbacks=[…])`, which keeps its own checkpoints: `train(resume_from_checkpoint=True)` uses them."""
    return _made(_HuggingFace, ("transformers",), "TrainerCallback", run, None)


def newest(run: Run, file: str = "") -> Path | None:
    """The newest whole checkpoint of this run, or the file of that name in it; None if there is none."""
    saver = run.context.saver
    found = None if saver is None else saver.checkpoints.newest()
    return None if found is None else found / file


class _Watching:
    """What the three have in common."""

    run: Run
    checkpoint_every: int | None

    def _watch(self, run: Run, checkpoint_every: int | None) -> None:
        self.run = run
        self.checkpoint_every = checkpoint_every or run.context.place.checkpoint_every
        run.context.stop.listen()

    def _is_due(self, step: int) -> bool:
        """Whether a checkpoint is to be kept after this step."""
        every = self.checkpoint_every
        return self.run.should_stop or (every is not None and step % every == 0)

    def _keep(self, step: int, write: Any) -> None:
        """Write a checkpoint now, since the model goes on changing; what goes wrong is told, not raised."""
        context = self.run.context
        if context.saver is None:
            return
        saved = context.saver.save(step, write)
        facts: dict[str, Any] = {"why": "stop" if self.run.should_stop else "every"}
        if saved.path is None:
            facts["problem"] = saved.problem
        else:
            milliseconds = round(1000 * saved.seconds, 3)
            facts |= {"path": str(saved.path), "bytes": saved.size}
            facts |= {"blocked_ms": milliseconds, "written_ms": milliseconds}
        context.teller.tell(records.CHECKPOINT, step=step, generation=self.run.generation, **facts)


class _Keras(_Watching):
    """Hooks of `keras.callbacks.Callback`."""

    model: Any
    params: Any

    def on_train_begin(self, logs: Mapping[str, Any] | None = None) -> None:
        """Go on counting where the optimizer stands, after a restart from a checkpoint."""
        del logs
        self._step = int(getattr(self.model.optimizer, "iterations", 0))

    def on_train_batch_end(self, batch: int, logs: Mapping[str, Any] | None = None) -> None:
        """A step is done."""
        del batch
        self._step += 1
        self.run.report(step=self._step, **dict(logs or {}))
        if self._is_due(self._step) and self.run.is_leader:
            self._keep(self._step, lambda directory: self.model.save(directory / KERAS_FILE))
        if self.run.should_stop:
            self.model.stop_training = True


class _Lightning(_Watching):
    """Hooks of `lightning.pytorch.Callback`."""

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A batch is done; several make a step where gradients are accumulated."""
        del pl_module, outputs, batch, batch_idx
        step = int(trainer.global_step)
        if step == self.run.step:
            return
        self.run.report(step=step, **dict(trainer.callback_metrics))
        if self._is_due(step):
            self._keep_together(trainer, step)
        if self.run.should_stop:
            trainer.should_stop = True

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Lightning leaves on SIGTERM as if all were done; whoever started us must see that it is not."""
        del trainer, pl_module
        if isinstance(exception, SystemExit) and self.run.should_stop:
            exception.code = EXIT_DRAINED

    def _keep_together(self, trainer: Any, step: int) -> None:
        """All ranks gather what is saved, the first one writes."""
        if self.run.is_leader:
            self._keep(step, lambda directory: trainer.save_checkpoint(directory / LIGHTNING_FILE))
        elif self.run.checkpoint_dir is not None:
            trainer.save_checkpoint(self.run.checkpoint_dir / LIGHTNING_FILE)


class _HuggingFace(_Watching):
    """Hooks of `transformers.TrainerCallback`."""

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """A step is done."""
        del args
        self.run.report(step=int(state.global_step), **_numbers(state.log_history))
        if self.run.should_stop:
            control.should_save = control.should_training_stop = True
        return control


def _numbers(history: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers that were logged last."""
    return {name: value for name, value in (history[-1] if history else {}).items() if name != "step"}


def _made(kind: type[_Watching], modules: tuple[str, ...], base: str, run: Run, every: int | None) -> Any:
    """A callback of the framework's own kind."""
    for module in modules:
        try:
            parent = getattr(import_module(module), base)
        except ImportError:
            continue
        made = type(f"Tenuto{kind.__name__.strip('_')}Callback", (kind, parent), {})()
        made._watch(run, every)
        return made
    package = modules[0].partition(".")[0]
    raise InputInvalid(f"{package} is not installed here", remedy=f"Install it with pip install {package}")
