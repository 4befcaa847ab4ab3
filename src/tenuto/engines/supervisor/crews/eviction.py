"""Kills a worker that hangs, after having asked it what it is doing; and tells of it, and of workers that were lost."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tenuto.engines.supervisor.crews.stacks import take_stack
from tenuto.engines.supervisor.crews.trainer import find_trainer
from tenuto.engines.supervisor.news import News
from tenuto.engines.supervisor.worker import MOST_PROBLEM_CHARACTERS, Worker
from tenuto.engines.supervisor.worker_files import printable
from tenuto.wire import records
from tenuto.wire.membership import STACK, STATUS
from tenuto.wire.status import Stage
from tenuto.wire.worker import ExitReason, WorkerId

log = logging.getLogger(__name__)
_SIGNALLED = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class StackTaken:
    """What a worker that hangs was doing."""

    worker: WorkerId
    seconds: float
    """For which the others had to wait for it."""
    stack: str


def ask(worker: Worker, seconds: float, deliver: Callable[[StackTaken], None]) -> None:
    """Have the stack of a worker taken, in a thread of its own; the worker is to be killed afterwards."""
    process = None if worker.running is None else worker.running.worker
    if process is None:
        return

    def work() -> None:
        try:
            trainer = find_trainer(process.pid, worker.files.link / STATUS)
            stack = take_stack(trainer, worker.files.untrusted.below("link"), STACK)
        except Exception as error:  # whatever it is, the others must not wait any longer
            log.exception("the stack of %s cannot be taken", worker.order.id)
            stack = f"its stack cannot be taken: {error}"
        deliver(StackTaken(worker=worker.order.id, seconds=seconds, stack=stack))

    threading.Thread(target=work, daemon=True, name=f"stack of {worker.order.id}").start()


def kill_hung(worker: Worker, taken: StackTaken, node: str) -> None:
    """Say that it hung, then kill it with all of its group."""
    process = None if worker.running is None else worker.running.worker
    if worker.end is not None or process is None or not process.alive():
        return  # it has gone by itself meanwhile
    log.warning("%s hangs for %.1f s and is killed:\n%s", worker.order.id, taken.seconds, taken.stack)
    told: dict[str, Any] = {"seconds": taken.seconds, "stack": taken.stack}
    News(worker.files.news).tell_once(records.HUNG, **_who(worker, node), **told)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def tell_of_loss(worker: Worker, node: str) -> None:
    """Say that a worker is gone that nobody had told to go."""
    end = worker.end
    if end is None or worker.watch is None or worker.stopping:
        return
    by_itself = end.reason in (ExitReason.ENDED, ExitReason.VANISHED)
    died = end.exit_code is None or end.exit_code >= _SIGNALLED
    status = worker.watch.status
    left = status is not None and status.stage in (Stage.LEAVING, Stage.FINISHED)
    if by_itself and died and not left:
        told: dict[str, Any] = {"reason": _reason(worker), "exit_code": end.exit_code}
        News(worker.files.news).tell_once(records.LOSS, **_who(worker, node), **told)


def tell_of_problem(worker: Worker, node: str, problem: str) -> None:
    """Say, once for each worker, that what it wrote cannot be used."""
    if not worker.problem_told:
        worker.problem_told = True
        told: dict[str, Any] = {"problem": printable(problem, MOST_PROBLEM_CHARACTERS)}
        News(worker.files.news).tell_once(records.PROBLEM, **_who(worker, node), **told)


def _reason(worker: Worker) -> str:
    assert worker.end is not None
    if worker.evicted:
        return "hung"
    code = worker.end.exit_code
    try:
        return worker.end.reason if code is None else signal.Signals(code - _SIGNALLED).name
    except ValueError:
        return worker.end.reason


def _who(worker: Worker, node: str) -> dict[str, Any]:
    status = None if worker.watch is None else worker.watch.status
    return {
        "worker": str(worker.order.id),
        "node": node,
        "step": 0 if status is None else status.step,
        "generation": 0 if status is None else status.generation,
    }
