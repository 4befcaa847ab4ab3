"""Checks: how nodes find themselves. The server only passes the question on, and never waits for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Protocol

from fastapi import APIRouter, Body, Request
from starlette.concurrency import run_in_threadpool

from tenuto.doctor.finding import Finding
from tenuto.model.node import Node, NodeState
from tenuto.server.find import node_called
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.platform import Here, Platform
from tenuto.store.base import Tx
from tenuto.wire.operations import ChecksIn, ChecksOut, FindingOut, NodeCheckOut

router = APIRouter(tags=["nodes"], route_class=BodyRoute)


class Asked(Protocol):
    """Whoever passes questions on to nodes."""

    def ask(self, nodes: Collection[str], paths: Sequence[str]) -> int:
        """Ask these nodes; returns the number of the question."""
        ...

    def answers(self, question: int) -> Mapping[str, tuple[Finding, ...]]:
        """What was answered so far, by node."""
        ...

    def hears(self, node: str) -> bool:
        """Whether a node can be asked at all."""
        ...

    def on_answer(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` at every answer; returns what ends it."""
        ...


@router.post("/checks", response_model=ChecksOut)
async def check_nodes(here: Here, request: Request, wish: Annotated[ChecksIn, Body()]) -> ChecksOut:
    """Ask nodes how they find themselves, and wait for what they answer. Nothing is changed."""
    asked: Asked | None = request.app.state.questions
    nodes = await run_in_threadpool(_nodes, here, wish.nodes)
    there = {node.name for node in nodes if node.state is not NodeState.OFFLINE}
    able = {name for name in there if asked is not None and asked.hears(name)}
    answers: Mapping[str, tuple[Finding, ...]] = {}
    if asked is not None and able:
        question = asked.ask(able, [*_paths(here), *wish.paths])
        answers = await _answers(asked, question, able, wish.timeout)
    return ChecksOut(items=[_shown(node, answers, able) for node in nodes])


def _nodes(here: Platform, names: Sequence[str]) -> list[Node]:
    def look(tx: Tx) -> list[Node]:
        return [node_called(tx, name) for name in names]

    return here.store.read(look)


def _paths(here: Platform) -> list[str]:
    """The directories that every node must see by the settings."""
    named = [here.settings.store.checkpoints, *here.settings.nodes.paths.split(":")]
    return [path for path in named if path]


async def _answers(
    asked: Asked, question: int, nodes: Collection[str], seconds: float
) -> Mapping[str, tuple[Finding, ...]]:
    """What the nodes have answered when all have, or when the time is up."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()

    def ring() -> None:
        with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
            loop.call_soon_threadsafe(changed.set)

    end = asked.on_answer(ring)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while len(asked.answers(question)) < len(nodes):
                    await changed.wait()
                    changed.clear()
    finally:
        end()
    return asked.answers(question)


def _shown(node: Node, answers: Mapping[str, tuple[Finding, ...]], able: Collection[str]) -> NodeCheckOut:
    if node.name in answers:
        findings = [
            FindingOut(
                topic=one.topic,
                name=one.name,
                status=str(one.status),
                told=one.told,
                remedy=one.remedy,
                value=one.value,
                unit=one.unit,
            )
            for one in answers[node.name]
        ]
        return NodeCheckOut(node=node.name, answer="answered", findings=findings)
    if node.state is NodeState.OFFLINE:
        return NodeCheckOut(node=node.name, answer="offline")
    return NodeCheckOut(node=node.name, answer="late" if node.name in able else "unable")
