"""One tick's records, attempts and events as one act of the store, or the part of them that still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tenuto.live.change import Change
from tenuto.live.decide import salvage
from tenuto.live.foretell import keep_ratios
from tenuto.live.leadership import Leadership, check
from tenuto.live.learn import keep_profile
from tenuto.live.mirror import Records
from tenuto.live.outcomes import keep_outcomes
from tenuto.live.reconcile import News
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.store.base import Tx


@dataclass(frozen=True)
class Draft:
    """What a tick wants to write."""

    news: News
    decided: Mapping[str, Change]
    """The same changes with the round's added."""
    meta: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    """About neither a job nor a node."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        if self.meta or self.events or self.news.changed_nodes or self.news.events:
            return False
        return not self.changed

    @cached_property
    def changed(self) -> Mapping[str, Change]:
        """Those of the changes that must be written."""
        return {name: change for name, change in self.decided.items() if change.changed}


@dataclass(frozen=True)
class Written:
    """What was written."""

    jobs: Mapping[str, Job]
    """The new records, by id."""
    changes: Mapping[str, Change]
    nodes: Mapping[str, Node]
    complete: bool
    """False if something had changed meanwhile and was left out: then decide again at once."""


def commit(tx: Tx, draft: Draft, records: Records, leadership: Leadership) -> Written:
    """Write what still holds. Raises LeadershipLost, and then nothing is written."""
    check(tx, leadership)  # 1 may this controller act?
    known = {name: node.revision for name, node in records.nodes.items()}
    if {node.name: node.revision for node in tx.nodes()} != known:  # 2 is the cluster the one decided on?
        return Written({}, {}, records.nodes, complete=False)
    stale = _stale(tx, draft.changed, records)  # 3 whose wishes have changed meanwhile?
    kept = salvage(draft.news.changes, draft.decided, stale)
    nodes = _put_nodes(tx, draft.news)
    jobs: dict[str, Job] = {}
    for name in draft.changed if kept is draft.decided else kept:
        change = kept[name]
        if change.changed:
            jobs[name] = tx.put_job(change.job)
            keep_profile(tx, change.before, change.job)
            keep_ratios(tx, change.before, change.job)
            for attempt in change.attempts:
                tx.put_attempt(attempt)
            for event in change.events:
                tx.add_event(event)
    keep_outcomes(tx, (kept[name] for name in jobs))
    for event in draft.events:
        tx.add_event(event)
    for key, value in draft.meta.items():
        tx.set_meta(key, value)
    complete = not stale and (
        kept is draft.decided or all(kept[name] is draft.decided[name] for name in kept)
    )
    return Written(jobs, kept, nodes, complete)


def _stale(tx: Tx, changed: Mapping[str, Change], records: Records) -> dict[str, Job | None]:
    """Of the jobs to be written, those that somebody has written or removed since they were read."""
    stale: dict[str, Job | None] = {
        job.id: job
        for job in tx.jobs_since(records.revision)
        if job.id in changed and job.revision != changed[job.id].before.revision
    }
    return stale | {name: None for name in tx.removed_since(records.revision) if name in changed}


def _put_nodes(tx: Tx, news: News) -> Mapping[str, Node]:
    nodes = dict(news.nodes)
    for node in news.changed_nodes:
        nodes[node.name] = tx.put_node(node)
    for event in news.events:
        tx.add_event(event)
    return nodes
