"""Which job or node is meant."""

from __future__ import annotations

from tenuto.errors import Conflict, NotFound
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, Phase
from tenuto.server.ids import ALPHABET, LENGTH
from tenuto.store.base import JobQuery, Tx
from tenuto.suggest import did_you_mean

SHORTEST_BEGINNING = 4
_LIVE = frozenset(Phase) - ENDED


def job_called(tx: Tx, ref: str) -> Job:
    """A job by its id, its name (the newest that lives, else the newest), or the beginning of its id."""
    if "\0" not in ref and ref:
        found = tx.job(ref.lower()) or _newest(tx, ref) or _beginning_with(tx, ref.lower())
        if found is not None:
            return found
        if (problem := problem_of_job(tx, ref)) is not None:
            raise unreadable(f"job {ref.lower()}", problem, f"tenuto delete {ref.lower()}")
    raise NotFound(f"there is no job {ref[:120]!r}", remedy=_guess(tx, ref) or "tenuto ps lists them")


def problem_of_job(tx: Tx, id_: str) -> str | None:
    """Why the record of a job cannot be read; None if it can, or if no job has this id."""
    return tx.unreadable_job(id_.lower()) if "\0" not in id_ else None


def problem_of_node(tx: Tx, name: str) -> str | None:
    """Why the record of a node cannot be read; None if it can, or if no node is called that."""
    return tx.unreadable_node(name) if "\0" not in name else None


def unreadable(what: str, problem: str, removal: str) -> Conflict:
    """The refusal of anything that needs a record which cannot be read; `removal` is the command that removes it."""
    return Conflict(
        f"the record of {what} cannot be read ({problem})",
        code="unreadable",
        remedy=f"{removal} removes it; everything else goes on without it",
    )


def _newest(tx: Tx, name: str) -> Job | None:
    live = tx.jobs(JobQuery(name=name, phases=_LIVE, limit=1))
    return next(iter(live or tx.jobs(JobQuery(name=name, limit=1))), None)


def _beginning_with(tx: Tx, start: str) -> Job | None:
    if not SHORTEST_BEGINNING <= len(start) < LENGTH or not set(start) <= set(ALPHABET):
        return None
    found: list[Job] = []
    cursor: int | None = None
    while len(found) < 2:
        page = tx.jobs(JobQuery(text=start, before=cursor, limit=500))
        found += [job for job in page if job.id.startswith(start)]
        if len(page) < 500:
            break
        cursor = page[-1].number
    if len(found) > 1:
        raise Conflict(
            f"several jobs begin with {start}",
            code="ambiguous",
            remedy=f"Give more of the id: {', '.join(job.id for job in found[:5])}",
        )
    return found[0] if found else None


def _guess(tx: Tx, ref: str) -> str:
    recent = tx.jobs(JobQuery(limit=100))
    return did_you_mean(
        ref, {job.spec.name: None for job in recent} | {job.id: None for job in recent}
    ).strip()


def node_called(tx: Tx, name: str) -> Node:
    """A node by its name."""
    node = tx.node(name) if "\0" not in name else None
    if node is None:
        if (problem := problem_of_node(tx, name)) is not None:
            raise unreadable(f"node {name}", problem, f"tenuto node rm {name}")
        names = [node.name for node in tx.nodes()]
        remedy = did_you_mean(name, names) + (
            f"Known are {', '.join(names[:20])}" if names else "None has joined"
        )
        raise NotFound(f"there is no node {name[:120]!r}", remedy=remedy)
    return node
