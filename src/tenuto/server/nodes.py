"""Nodes: list, see what they are doing, drain, use again, forget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Path, Request

from tenuto.errors import Conflict, NotFound
from tenuto.model.event import Event
from tenuto.model.node import Node, NodeState
from tenuto.server.find import node_called, problem_of_node
from tenuto.server.paging import MOST, Limit, Text, cursor_of, number_in
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.show import shown_nodes
from tenuto.server.usage import age_of, usage_of
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.store.credentials import release_credentials
from tenuto.wire.overview import NodeSampleOut
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import DeletedOut, NodeOut, Page

router = APIRouter(prefix="/nodes", tags=["nodes"])

Name = Annotated[str, Path(max_length=100, description="The node's name.")]


@router.get("", response_model=Page[NodeOut])
def list_nodes(here: Here, limit: Limit = MOST, cursor: Text = "") -> Page[NodeOut]:
    """List nodes in the order in which they joined."""
    after = number_in(cursor) or 0

    def look(tx: Tx) -> Page[NodeOut]:
        found = [node for node in tx.nodes() if node.number > after]
        page = found[:limit]
        more = len(found) > limit
        return Page(items=_all_shown(here, tx, page), next=cursor_of(page[-1].number) if more else None)

    return here.store.read(look)


@router.get("/{name}", response_model=NodeOut)
def show_node(here: Here, name: Name) -> NodeOut:
    """Show a node."""
    return here.store.read(lambda tx: _shown(here, tx, node_called(tx, name)))


@router.get("/{name}/sample", response_model=NodeSampleOut)
def show_sample(here: Here, name: Name) -> NodeSampleOut:
    """Show a node's newest sample: cores, memory, disks, network, GPUs with their processes."""
    node = here.store.read(lambda tx: node_called(tx, name))
    sample = here.files.latest.of(name)
    if sample is None:
        raise NotFound(f"there is no sample of node {name}", code="no_sample", remedy=_why_none(here, node))
    age = age_of(sample, here.clock())
    return NodeSampleOut(node=name, at=rfc3339(sample.at), age=age, sample=sample)


def _why_none(here: Platform, node: Node) -> str:
    if node.state is NodeState.OFFLINE:
        return "It is offline: start its supervisor again"
    if not here.settings.monitor.period:
        return "Nodes are not sampled: set monitor.period to a number of seconds"
    return "Nothing was sampled lately; try again in some seconds, or look into its supervisor's log"


def _all_shown(here: Platform, tx: Tx, nodes: Sequence[Node]) -> list[NodeOut]:
    now = here.clock()
    found = []
    for node in shown_nodes(nodes, tx.live_jobs(), here.settings.nodes.cpu_jobs):
        sample = None if node.state == NodeState.OFFLINE else here.files.latest.of(node.name)
        usage = None if sample is None else usage_of(sample, now)
        found.append(node.model_copy(update={"usage": usage}))
    return found


def _shown(here: Platform, tx: Tx, node: Node) -> NodeOut:
    return _all_shown(here, tx, [node])[0]


@router.post("/{name}/drain", response_model=NodeOut)
def drain_node(here: Here, who: Who, name: Name) -> NodeOut:
    """Let a node keep no worker and get none: its jobs go on elsewhere."""
    return _put(here, who, name, NodeState.DRAINING)


@router.post("/{name}/undrain", response_model=NodeOut)
def undrain_node(here: Here, who: Who, name: Name) -> NodeOut:
    """Let a drained node be used again."""
    return _put(here, who, name, NodeState.ONLINE)


def _put(here: Platform, who: str, name: str, state: NodeState) -> NodeOut:
    asker = Asker(who, here.clock())

    def act(tx: Tx) -> NodeOut:
        node = node_called(tx, name)
        if node.state is not state or node.problem:
            _reachable(node)
            tx.put_node(replace(node, state=state, problem=""))  # it stays drained when its problem is over
            tx.add_event(
                Event(
                    kind="node",
                    at=asker.now,
                    actor=asker.user,
                    node=name,
                    before=str(node.state),
                    after=str(state),
                    reason=f"{asker.user} asked for it",
                )
            )
        return _shown(here, tx, node_called(tx, name))

    return here.store.write(act)


def _reachable(node: Node) -> None:
    if node.state is NodeState.OFFLINE:
        raise Conflict(
            f"node {node.name} is offline",
            code="node_offline",
            remedy="Start its supervisor again, or forget the node: tenuto node rm",
        )


@router.delete("/{name}", response_model=DeletedOut)
def remove_node(request: Request, here: Here, who: Who, name: Name) -> DeletedOut:
    """Forget a node without workers; its supervisor ends."""
    asker, released = Asker(who, here.clock()), list[str]()

    def act(tx: Tx) -> DeletedOut:
        if problem_of_node(tx, name) is not None:
            tx.remove_node(name)
            reason = "its record could not be read"
            tx.add_event(
                Event(kind="node", at=asker.now, actor=who, node=name, after="removed", reason=reason)
            )
            return DeletedOut(deleted=[name])
        node = node_called(tx, name)
        shown = _shown(here, tx, node)
        if shown.jobs and node.state is not NodeState.OFFLINE:
            raise Conflict(
                f"node {name} still has workers of {', '.join(shown.jobs[:10])}",
                code="node_in_use",
                remedy=f"Drain it first: tenuto node drain {name}"
                if node.state is NodeState.ONLINE
                else "Wait until they have gone",
            )
        tx.remove_node(name)
        released.extend(token.digest for token in release_credentials(tx, name, asker.now))
        tx.add_event(
            Event(kind="node", at=asker.now, actor=who, node=name, before=str(node.state), after="removed")
        )
        return DeletedOut(deleted=[name])

    gone = here.store.write(act)
    request.app.state.gate.forget(*released)
    here.files.latest.forget(name)
    return gone
