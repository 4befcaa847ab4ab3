"""Jobs, nodes and orders for the tests of engines: valid by default, so that a test names only what matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase
from tenuto.wire.worker import WORKER, WorkerId, WorkerOrder


def a_placed_job(slots: Mapping[str, tuple[int, ...]], *, generation: int = 1, **spec: Any) -> Job:
    """A job that is about to start on these slots."""
    asked: dict[str, Any] = {"name": "훈련", "run": ("python", "train.py")} | spec
    return Job(
        id="j-1",
        number=1,
        revision=1,
        spec=JobSpec(**asked),
        owner="ada",
        submitted_at=0.0,
        phase=Phase.STARTING,
        slots=slots,
        generation=generation,
        port=29500,
        progress=Progress(left=0.0, as_of=0.0),
    )


def a_node(name: str, number: int, *, slots: int = 4, gpus: bool = False, address: str = "") -> Node:
    """A node that is online; with `gpus`, its slots are devices 0, 1, …"""
    each = tuple(Slot(device=str(i), kind="gpu") if gpus else Slot() for i in range(slots))
    return Node(
        name=name,
        number=number,
        revision=1,
        state=NodeState.ONLINE,
        slots=each,
        address=address or f"10.0.0.{number}",
    )


def nodes_by_name(*nodes: Node) -> dict[str, Node]:
    return {node.name: node for node in nodes}


def an_id(job: str = "j-1", *, generation: int = 1, role: str = WORKER, rank: int = 0) -> WorkerId:
    return WorkerId(job, generation, role, rank)


def an_order(
    worker: WorkerId | None = None,
    *,
    node: str = "노드-0",
    slot: int | None = 0,
    argv: tuple[str, ...] = ("/bin/sleep", "1000"),
    **more: Any,
) -> WorkerOrder:
    """One worker that would run for a long time, on the first slot of the first node."""
    return WorkerOrder(id=worker or an_id(), node=node, slot=slot, argv=argv, **({"env": {}} | more))
