"""The five lines: `init`, `elastic`, the loop, `report`, `finish`."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.sdk.checkpoints import Checkpoints
from tenuto.sdk.context import Context, Elastic, Session
from tenuto.sdk.course import Course
from tenuto.sdk.link import Link
from tenuto.sdk.meter import Meter
from tenuto.sdk.place import Place, find_place
from tenuto.sdk.saver import Saver
from tenuto.sdk.stopping import StopSignal
from tenuto.sdk.telling import Teller
from tenuto.sdk.worker_log import WorkerLog
from tenuto.wire import membership, records
from tenuto.wire.spool import Spool

SUMMARY_FILE = "summary.json"
"""In the checkpoint directory, after the end."""


def init(
    *,
    seed: int = 0,
    report_every: int = 10,
    checkpoint_dir: str | Path | None = None,
    keep_checkpoints: int = 3,
    log_dir: str | Path | None = None,
) -> Run:
    """Find out where this script runs, and make ready to tell of it.

    `seed` decides the order of samples and their randomness. Every `report_every` steps a record is written. The
    directories are those of the environment (TENUTO_CHECKPOINT_DIR, TENUTO_LOG_DIR) unless they are given here; without
    a checkpoint directory there are no checkpoints, without a log directory no readable log.
    """
    _positive(report_every=report_every, keep_checkpoints=keep_checkpoints)
    place = find_place()
    if checkpoint_dir is not None:
        place = replace(place, checkpoint_dir=Path(checkpoint_dir))
    if log_dir is not None:
        place = replace(place, log_dir=Path(log_dir))
    return Run(_surroundings(place, seed, report_every, keep_checkpoints))


class Run:
    """One training run, as its script sees it. What it does for observers never raises and never waits."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._session: Session | None = None
        self._reports = 0
        self._total = context.place.steps
        self._sentence = ""
        self._is_closed = False
        self._pid = os.getpid()
        if context.place.report is not None:
            context.meter.keep_progress(context.place.report, lambda: self._total)
        atexit.register(self._end)

    def elastic(
        self,
        model: Any,
        optimizer: Any,
        dataset: Any,
        *,
        global_batch: int | None = None,
        epochs: int | None = None,
        steps: int | None = None,
        scheduler: Any = None,
        sync_batchnorm: bool = False,
        most_per_worker: int | None = None,
        loader_workers: int = 0,
        collate: Callable[[list[Any]], Any] | None = None,
        shuffle: bool = True,
        checkpoint_every: int | None = None,
        find_unused_parameters: bool = False,
        extras: Mapping[str, Any] | None = None,
    ) -> tuple[Any, Any, Iterator[Any]]:
        """Make a PyTorch training loop elastic: the model, the optimizer, and the batches of this worker.

        One loop over the batches is the whole rest of the run, all epochs. `global_batch` is the number of samples of
        one update of all workers together; TENUTO_GLOBAL_BATCH wins over it, since the job's promise was reckoned with
        that. The run ends after `steps` or `epochs`, but not after more than TENUTO_STEPS; without them after
        TENUTO_STEPS, else after one epoch. The other options are explained at `tenuto.sdk.context.Elastic`.
        """
        if self._session is not None:
            raise InputInvalid("run.elastic was called twice", remedy="Train one model in a process")
        _positive(most_per_worker=most_per_worker, checkpoint_every=checkpoint_every)
        _has(model, "model", "state_dict", "parameters")
        _has(optimizer, "optimizer", "state_dict", "step")
        course = self._course(_length(dataset), global_batch, epochs, steps)
        self._total = course.steps
        session = self._begin(
            Elastic(
                model=model,
                optimizer=optimizer,
                dataset=dataset,
                course=course,
                scheduler=scheduler,
                sync_batchnorm=sync_batchnorm,
                most_per_worker=most_per_worker,
                loader_workers=loader_workers,
                collate=collate,
                shuffle=shuffle,
                find_unused_parameters=find_unused_parameters,
                extras=extras or {},
                checkpoint_every=checkpoint_every or self._context.place.checkpoint_every,
            )
        )
        return session.model, session.optimizer, session.batches

    def report(self, *, step: int | None = None, samples: int | None = None, **scalars: Any) -> None:
        """Tell numbers of this step, such as `loss=loss`. They are kept; other threads do the rest.

        In a loop of `elastic` the step is known. In another one each call counts as a step, unless `step` says how many
        there were, and `samples` how many samples they had.
        """
        session = self._session
        if session is not None and session.aborted:
            return
        self._context.meter.report({name: _kept(value) for name, value in scalars.items()})
        if session is None:
            self._reports = self._reports + 1 if step is None else step
            self._context.meter.stepped(
                step=self._reports,
                samples=samples or 0,
                generation=self.generation,
                rank=self.rank,
                world=self.world,
            )

    def finish(self, model: Any = None, *, export: str | Path | None = None) -> str:
        """All steps are done: keep the last checkpoint, write the model to `export`, and tell the summary.

        After a loop that is not ours and was ended because the process was asked to, this exits: drained, not done.
        """
        session = self._session
        if session is not None and not self._is_closed:
            session.finish(model)
            exported = self._export(model, export) if export is not None and self.is_leader else None
            if self.is_leader:
                self._sentence = self._summarise(session, exported)
        self._close()
        if session is None and self.should_stop:
            raise SystemExit(self._context.stop.exit_code)
        return self._sentence

    @property
    def rank(self) -> int:
        """This worker's number in the present generation."""
        return self._context.place.rank if self._session is None else self._session.rank

    @property
    def world(self) -> int:
        """How many workers there are in the present generation."""
        return self._context.place.world if self._session is None else self._session.world

    @property
    def generation(self) -> int:
        """The membership that was joined last."""
        return self._context.place.generation if self._session is None else self._session.generation

    @property
    def step(self) -> int:
        """Updates that were applied so far."""
        return self._reports if self._session is None else self._session.step

    @property
    def is_leader(self) -> bool:
        """Whether this is the one worker that writes what all have in common."""
        return self.rank == 0

    @property
    def should_stop(self) -> bool:
        """Whether the process was asked to end; a loop of `elastic` heeds it by itself."""
        return self._context.stop.asked

    @property
    def params(self) -> Mapping[str, Any]:
        """The job's `params`."""
        return self._context.place.params

    @property
    def checkpoint_dir(self) -> Path | None:
        """Where checkpoints are kept."""
        return self._context.place.checkpoint_dir

    @property
    def context(self) -> Context:
        """For callbacks in loops that are not ours."""
        return self._context

    def _begin(self, elastic: Elastic) -> Session:
        try:
            from tenuto.sdk.pytorch.session import Session as TorchSession  # torch only where a script trains
        except ModuleNotFoundError as missing:
            raise InputInvalid(
                f"run.elastic needs {missing.name}, which is not installed for {sys.executable}",
                remedy="Install torch and safetensors there, such as with pip install 'tenuto[torch]'",
            ) from missing
        place = self._context.place
        # Without a checkpoint there is nothing to finish a step for; a supervisor's worker has no keyboard.
        keyboard = place.checkpoint_dir is not None and place.link is None
        self._context.stop.listen(keyboard=keyboard, says_so=place.rank == 0)
        self._session = TorchSession(self._context, elastic)
        return self._session

    def _course(
        self, samples: int, global_batch: int | None, epochs: int | None, steps: int | None
    ) -> Course:
        place = self._context.place
        size = place.global_batch or global_batch
        if size is None:
            raise InputInvalid(
                "nothing says how many samples an update has",
                remedy="Give run.elastic a global_batch, such as 256",
                field="global_batch",
            )
        if epochs is not None and steps is not None:
            raise InputInvalid("both epochs and steps are given", remedy="Give one of them", field="epochs")
        _positive(global_batch=size, epochs=epochs, steps=steps)
        if steps is None and epochs is None and place.steps is not None:
            return Course(samples, size, place.steps)
        course = Course.of_epochs(samples, size, epochs or 1)
        wanted = course.steps if steps is None else steps
        # The platform takes the job's total for the end, and reckons with it.
        return replace(course, steps=wanted if place.steps is None else min(wanted, place.steps))

    def _export(self, model: Any, directory: str | Path) -> Path:
        from tenuto.sdk.pytorch.saving import export_model

        session = self._session
        return export_model(Path(directory), model if model is not None or session is None else session.model)

    def _summarise(self, session: Session, exported: Path | None) -> str:
        ledger = session.ledger
        sentence = ledger.summary()
        facts = {
            "samples": ledger.samples,
            "epochs": ledger.epochs,
            "steps": ledger.steps,
            "generations": ledger.generations,
            "losses": ledger.losses,
            "each_once": True,
            "sentence": sentence,
            "export": None if exported is None else str(exported),
        }
        self._context.teller.tell(records.SUMMARY, step=session.step, generation=session.generation, **facts)
        with contextlib.suppress(OSError, ValueError):  # a closed terminal, a full disk: the training is done
            sys.stdout.write(f"{sentence}\n")
            sys.stdout.flush()
            if self.checkpoint_dir is not None:
                (self.checkpoint_dir / SUMMARY_FILE).write_text(json.dumps(facts, indent=1), encoding="utf-8")
        return sentence

    def _end(self) -> None:
        """The program ends without `finish`. After an error or in mid-training that is as it should be."""
        session = self._session
        is_done = session is not None and session.step >= (self._total or 0)
        if is_done and self.is_leader and not self._is_closed and os.getpid() == self._pid:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.write("tenuto: run.finish(model) was not called: no last checkpoint, no summary\n")
        self._close()

    def _close(self) -> None:
        if self._is_closed or os.getpid() != self._pid:
            return  # a child that the script has forked has nothing to tell
        self._is_closed = True
        atexit.unregister(self._end)
        if self._context.saver is not None:
            self._context.saver.wait()
        self._context.stop.close()
        self._context.teller.close()
        if self._context.link is not None:
            self._context.link.close()


def _surroundings(place: Place, seed: int, report_every: int, keep_checkpoints: int) -> Context:
    spool = None if place.link is None else Spool(place.link / membership.STEPS)
    log = None if place.log_dir is None else WorkerLog(place.log_dir, place.node, place.number)
    teller = Teller(spool, log)
    saves = (
        None if place.checkpoint_dir is None else Saver(Checkpoints(place.checkpoint_dir, keep_checkpoints))
    )
    return Context(
        place=place,
        seed=seed,
        link=None if place.link is None else Link(place.link, place.worker, place.bell),
        teller=teller,
        meter=Meter(teller, report_every),
        saver=saves,
        stop=StopSignal(),
    )


def _kept(value: Any) -> Any:
    """The value as it is now: a tensor may be changed before its number is fetched, or hold on to a whole graph."""
    detach = getattr(value, "detach", None)
    return value if detach is None else detach().clone()


def _length(dataset: Any) -> int:
    kinds = {kind.__name__ for kind in type(dataset).__mro__}
    if "DataLoader" in kinds:
        raise InputInvalid(
            "run.elastic was given a DataLoader",
            remedy="Give the dataset in it: the batches come from run.elastic, which shares them among the workers",
            field="dataset",
        )
    try:
        length = len(dataset) if hasattr(dataset, "__getitem__") and "IterableDataset" not in kinds else 0
    except TypeError:
        length = 0
    if length < 1:
        raise InputInvalid(
            "the dataset has no length, or none of its samples is there",
            remedy="Give one with __len__ and __getitem__, so that every sample has a number",
            field="dataset",
        )
    return length


def _has(thing: Any, name: str, *methods: str) -> None:
    """So that a mistaken order of arguments is told as what it is."""
    missing = [method for method in methods if not hasattr(thing, method)]
    if missing:
        raise InputInvalid(
            f"the {name} is of type {type(thing).__name__}, which has no {' and no '.join(missing)}",
            remedy="Call run.elastic(model, optimizer, dataset, ...), in this order",
            field=name,
        )


def _positive(**counts: int | None) -> None:
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int) or count < 1):
            raise InputInvalid(f"{name} is {count!r}", remedy="Give a whole number, 1 or more", field=name)
