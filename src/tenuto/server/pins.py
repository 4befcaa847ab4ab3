"""Which size a `scale` means, and whether the job and the nodes can have it at all. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tenuto.errors import Conflict, NotFound
from tenuto.model.job import Job, Pin
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import PLACED
from tenuto.suggest import did_you_mean
from tenuto.wire.asks import ScaleIn


@dataclass(frozen=True, slots=True)
class Ground:
    """What a pin must fit."""

    nodes: Sequence[Node]
    others: Sequence[Job]
    """The other live jobs."""

    def usable(self) -> dict[str, int]:
        """Slots of every node that can be used."""
        return {node.name: len(node.slots) for node in self.nodes if node.state is NodeState.ONLINE}

    def pinned(self, node: str) -> int:
        """Slots of a node that the pins of others name."""
        return sum(job.pin.nodes.get(node, 0) for job in self.others if job.pin is not None)


def pin_of(job: Job, asked: ScaleIn, ground: Ground) -> Pin | None:
    """The pin that a request means; None releases it. Raises if it cannot be."""
    if asked.workers == "auto":
        return None
    if job.spec.cpu_only:
        raise Conflict(
            f"job {job.id} ({job.spec.name}) asks for no GPU, and such jobs have a fixed size",
            code="out_of_range",
            remedy="Resubmit it with another number of workers",
            field="workers",
        )
    pin = _wanted(job, asked, ground)
    least, most = job.spec.min_workers, job.spec.max_workers
    if not least <= pin.workers <= most:
        sizes = _workers(least) if least == most else f"{least} to {_workers(most)}"
        raise Conflict(
            f"job {job.id} ({job.spec.name}) can have {sizes}, not {pin.workers}",
            code="out_of_range",
            remedy="Choose a number within the range, or resubmit the job with another range",
            field="workers",
        )
    _fits(job, pin, ground)
    return pin


def _wanted(job: Job, asked: ScaleIn, ground: Ground) -> Pin:
    if isinstance(asked.workers, int):
        return Pin(workers=asked.workers)
    if asked.nodes is not None:
        return _on_nodes(asked.nodes, ground)
    assert asked.delta is not None
    if asked.node is None:
        return Pin(workers=_present(job) + asked.delta)
    share = _present_share(job)
    there = share.get(asked.node, 0) + asked.delta
    if there < 0:
        raise Conflict(
            f"job {job.id} has {_workers(share.get(asked.node, 0))} on {asked.node}",
            code="out_of_range",
            remedy=f"Take away at most {share.get(asked.node, 0)}",
            field="delta",
        )
    return _on_nodes({**share, asked.node: there}, ground)


def _on_nodes(shares: Mapping[str, int], ground: Ground) -> Pin:
    known = [node.name for node in ground.nodes]
    for name in shares:
        if name not in known:
            remedy = did_you_mean(name, known) + f"Known are {', '.join(known[:20]) or 'none'}"
            raise NotFound(f"there is no node {name!r}", remedy=remedy, field="node")
    some = {name: count for name, count in shares.items() if count > 0}
    return Pin(workers=sum(some.values()), nodes=some)


def _present(job: Job) -> int:
    """The size from which a difference counts: the pinned one, else the one it has."""
    if job.pin is not None:
        return job.pin.workers
    if job.phase not in PLACED:
        raise Conflict(
            f"job {job.id} has no workers now, so a difference means nothing",
            code="out_of_range",
            remedy="Give the number of workers",
            field="delta",
        )
    return job.workers


def _present_share(job: Job) -> dict[str, int]:
    if job.pin is not None and job.pin.nodes:
        return dict(job.pin.nodes)
    return {name: len(numbers) for name, numbers in job.places.items()}


def _fits(job: Job, pin: Pin, ground: Ground) -> None:
    usable = ground.usable()
    if job.spec.node:
        _only_there(job, pin)
        usable = {job.spec.node: usable.get(job.spec.node, 0)}
    if pin.workers > sum(usable.values()):
        raise _too_few(f"{_slots(sum(usable.values()))} can be used, {pin.workers} asked for")
    for name, count in pin.nodes.items():
        free = usable.get(name, 0) - ground.pinned(name)
        if count > free:
            raise _too_few(f"node {name} has {_slots(max(free, 0))} to give, {count} asked for")


def _only_there(job: Job, pin: Pin) -> None:
    elsewhere = [name for name in pin.nodes if name != job.spec.node]
    if elsewhere:
        raise Conflict(
            f"job {job.id} may run on {job.spec.node} only",
            code="out_of_range",
            remedy="Resubmit it without node",
            field="node",
        )


def _workers(count: int) -> str:
    return "1 worker" if count == 1 else f"{count} workers"


def _slots(count: int) -> str:
    return "1 slot" if count == 1 else f"{count} slots"


def _too_few(problem: str) -> Conflict:
    return Conflict(problem, code="not_enough_slots", remedy="Ask for less, or add nodes", field="workers")
