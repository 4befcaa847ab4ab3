"""The whole: how it is doing, and its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter

import tenuto
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import NodeState
from tenuto.server.platform import Here, Who
from tenuto.server.show import moment
from tenuto.store.base import Tx
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import ClusterOut, ControllerOut, DownOut, SlotsOut

router = APIRouter(tags=["cluster"])


@router.get("/cluster", response_model=ClusterOut)
def show_cluster(here: Here) -> ClusterOut:
    """Count slots, nodes and jobs, and tell what the controller does."""
    now = here.clock()

    def look(tx: Tx) -> ClusterOut:
        nodes = tx.nodes()
        scheduling: dict[str, Any] = tx.meta("scheduling") or {}
        return ClusterOut(
            version=tenuto.__version__,
            now=rfc3339(now),
            slots=SlotsOut(
                total=sum(len(node.slots) for node in nodes),
                usable=sum(len(node.slots) for node in nodes if node.state is NodeState.ONLINE),
                used=len({slot for job in tx.live_jobs() for slot in _slots(job)}),
            ),
            nodes=dict.fromkeys(map(str, NodeState), 0) | Counter(str(node.state) for node in nodes),
            wait_nodes=scheduling.get("wait_nodes", here.settings.scheduling.wait_nodes),
            jobs={str(phase): count for phase, count in tx.count_jobs().items()},
            policy=scheduling.get("policy", here.settings.scheduling.policy),
            controller=_controller(tx),
            draining=bool(tx.meta("draining")),
            revision=tx.revision,
        )

    return here.store.read(look)


def _slots(job: Job) -> Iterator[tuple[str, int]]:
    """The slots that a job is on, its own or as a guest."""
    if job.spec.cpu_only:
        return iter(())
    return ((node, number) for node, numbers in job.places.items() for number in numbers)


def _controller(tx: Tx) -> ControllerOut:
    told: dict[str, Any] = tx.meta("controller") or {}
    leadership: dict[str, Any] = tx.meta("leadership") or {}
    return ControllerOut(
        state=told.get("state", "unknown"), at=moment(told.get("at")), term=leadership.get("term")
    )


@router.post("/down", response_model=DownOut)
def go_down(here: Here, who: Who) -> DownOut:
    """Drain and stop the platform: workers are told to stop, waiting jobs are kept for the next start."""
    now = here.clock()

    def act(tx: Tx) -> DownOut:
        if not tx.meta("draining"):
            tx.set_meta("draining", True)
            tx.add_event(
                Event(kind="cluster", at=now, actor=who, after="draining", reason=f"{who} asked for it")
            )
        return DownOut(draining=True)

    return here.store.write(act)
