"""A platform on which jobs are in every state, as a controller and supervisors would have left it."""

from __future__ import annotations

from functools import partial

from tests.server.serving import NOW, Served, promised

from tenuto.model.phase import Phase
from tenuto.store.base import Attempt, Tx
from tenuto.wire.worker import WORKER, WorkerId


def busy(served: Served) -> None:
    """Two nodes, and a job in each state; one that runs has printed something."""
    for name in ("node-0", "узел-1"):
        served.join(name)
    served.store.write(_decides)
    for phase in Phase:
        id_ = served.submit(f"학습 {phase}", workers="1..4", total={"steps": 1000}, curve={"1": 1.0})["id"]
        served.put(id_, phase=phase)
    running = served.submit("trénink", workers="1..2", total={"steps": 1e6}, curve={"1": 1, "2": 2})["id"]
    served.runs(running, node_0=(0, 1))
    served.put(running, **promised(served.job(running), NOW + 1e7))
    for rank in (0, 1):
        worker = WorkerId(running, 1, WORKER, rank)
        served.logs.append(worker, 0, "학습 1\n학습 2\n".encode())
        attempt = Attempt(
            job=running,
            generation=1,
            role=WORKER,
            rank=rank,
            node="node-0",
            slot=rank,
            pid=4711,
            started_at=NOW,
        )
        served.store.write(partial(_put, attempt))


def _put(attempt: Attempt, tx: Tx) -> None:
    tx.put_attempt(attempt)


def _decides(tx: Tx) -> None:
    """A controller leads, and has just said so."""
    tx.set_meta("controller", {"state": "deciding", "at": NOW})
    tx.set_meta("leadership", {"term": 1, "holder": "one", "until": NOW + 1e9})
