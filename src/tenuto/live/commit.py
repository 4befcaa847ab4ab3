"""One tick's records, attempts and events as one act of the store, or the part of them that still holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tenuto.live.change import Change
from tenuto.live.decide import salvage
from tenuto.live.leadership import Leadership, check
from tenuto.live.learn import keep_profile
from tenuto.live.mirror import Records
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
        return not any(change.changed for change in self.decided.values())


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
    stale = _stale(tx, draft.decided)  # 3 whose wishes have changed meanwhile?
    kept = salvage(draft.news.changes, draft.decided, stale)
    nodes = _put_nodes(tx, draft.news)
    jobs: dict[str, Job] = {}
    for name, change in kept.items():
        if change.changed:
            jobs[name] = tx.put_job(change.job)
            keep_profile(tx, change.before, change.job)
            for attempt in change.attempts:
                tx.put_attempt(attempt)
            for event in change.events:
                tx.add_event(event)
    for event in draft.events:
        tx.add_event(event)
    for key, value in draft.meta.items():
        tx.set_meta(key, value)
    complete = not stale and all(kept[name] is draft.decided[name] for name in kept)
    return Written(jobs, kept, nodes, complete)


def _stale(tx: Tx, decided: Mapping[str, Change]) -> dict[str, Job | None]:
    """The jobs that were written or removed since they were read."""
    stale: dict[str, Job | None] = {}
    for name, change in decided.items():
        if change.changed:
            now = tx.job(name)
            if now is None or now.revision != change.before.revision:
                stale[name] = now
    return stale


def _put_nodes(tx: Tx, news: News) -> Mapping[str, Node]:
    nodes = dict(news.nodes)
    for node in news.changed_nodes:
        nodes[node.name] = tx.put_node(node)
    for event in news.events:
        tx.add_event(event)
    return nodes
