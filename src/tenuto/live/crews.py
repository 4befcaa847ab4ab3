"""From records to who shall train together, for the jobs that rescale in place. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tenuto.engines.launch import member_ids
from tenuto.live.orders import may_begin, wants_workers
from tenuto.live.sight import Sight
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.wire.worker import CrewOrder


def crews(jobs: Iterable[Job], nodes: Mapping[str, Node], sight: Sight, now: float) -> tuple[CrewOrder, ...]:
    """One order for each job that has, or shall have, workers that go over in place."""
    return tuple(order for job in jobs if job.spec.in_place for order in _crew(job, nodes, sight, now))


def _crew(job: Job, nodes: Mapping[str, Node], sight: Sight, now: float) -> Iterator[CrewOrder]:
    """The job's order; none if nobody is wanted and nobody lives.

    Before a job is started as a whole, all who still live are told to leave, by an order that is one older.
    """
    begins = wants_workers(job, nodes) and may_begin(job, sight, now)
    members = job.members if begins else ()
    places = [member.node for member in members]
    places += sorted({node for _, node in sight.whereabouts(job.id)}, key=lambda node: _number(node, nodes))
    if not places:
        return
    waits = bool(job.members) and not begins
    yield CrewOrder(
        job=job.id,
        plan=job.generation - waits,
        members=member_ids(job) if begins else (),
        lead=places[0],
        peers={node: _peer(node, sight) for node in places},
        hosts={node: _host(node, nodes) for node in places},
    )


def _number(node: str, nodes: Mapping[str, Node]) -> tuple[bool, int, str]:
    """Nodes in the order in which they joined; those that were removed last."""
    known = nodes.get(node)
    return known is None, 0 if known is None else known.number, node


def _peer(node: str, sight: Sight) -> str:
    """Where the node's supervisor listens for others; empty before it was heard."""
    seen = sight.seen.nodes.get(node)
    return "" if seen is None else seen.peer


def _host(node: str, nodes: Mapping[str, Node]) -> str:
    known = nodes.get(node)
    return node if known is None else known.address or known.name
