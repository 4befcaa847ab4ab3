"""Who trains together, and who says so: nobody (alone), the environment (static), or the supervisor (linked)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from torch._C._distributed_c10d import Store
from torch.distributed.rendezvous import rendezvous

from tenuto.sdk.context import Context
from tenuto.sdk.link import Link
from tenuto.sdk.place import Kind, Place
from tenuto.sdk.pytorch.group import Group, Home
from tenuto.sdk.stopping import StopSignal
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage

GRACE = 25.0
"""Seconds after SIGTERM in which a membership may still say who goes; the supervisor kills after 30."""
_LOOK = 0.2


class ToldToGo(Exception):
    """It was asked to end, and nobody says how."""


class Company(Protocol):
    """What a session must know of the others."""

    worker: str
    can_recover: bool
    """Whether somebody will name a new group after a loss."""

    def next(self, after: int, *, has_state: bool) -> Membership:
        """Wait for a newer one than that. A worker without state waits for one with itself in it."""

    def wanted(self, generation: int) -> str | None:
        """What the members must agree on, if anything; asked after each step."""

    def meet(self, group: Group, membership: Membership, note: str) -> tuple[str, ...]:
        """Leave a note at the group's store and get everybody's."""

    def show(self, stage: Stage | None = None, **fields: Any) -> None:
        """To the supervisor."""

    def on_newer(self, callback: Callable[[Membership], None]) -> None:
        """From another thread."""


class Linked:
    """The supervisor says."""

    can_recover = True

    def __init__(self, link: Link, stop: StopSignal, host: str) -> None:
        self.worker = link.worker
        self._link = link
        self._stop = stop
        self._told_at: float | None = None
        self._home = Home(host)
        link.show(port=self._home.port)

    def next(self, after: int, *, has_state: bool) -> Membership:
        """The newest, as soon as it concerns us."""
        wait = 0.0
        while True:
            found = self._link.wait_newer(after, wait)
            if found is not None and (has_state or found.rank_of(self.worker) is not None):
                return found
            after = after if found is None else found.generation
            self._link.show(Stage.READY)
            wait = _LOOK
            if self._stop.asked and not has_state:
                raise ToldToGo
            self._heed_the_signal()

    def wanted(self, generation: int) -> str | None:
        """The newest membership, if it is newer than ours."""
        newest = self._link.newest
        if newest is not None and newest.generation > generation:
            return newest.name
        if self._stop.asked:
            self._heed_the_signal()
        return None

    def meet(self, group: Group, membership: Membership, note: str) -> tuple[str, ...]:
        """At the first member's store."""
        first = membership.members[0]
        return group.meet(first.host, first.port, note)

    def show(self, stage: Stage | None = None, **fields: Any) -> None:
        """In the status page."""
        self._link.show(stage, **fields)

    def on_newer(self, callback: Callable[[Membership], None]) -> None:
        """From the link's watcher."""
        self._link.on_newer(callback)

    def _heed_the_signal(self) -> None:
        """The membership says who goes and when; only if none comes the signal alone counts."""
        if self._stop.asked and self._told_at is None:
            self._told_at = time.monotonic()
        if self._told_at is not None and time.monotonic() - self._told_at > GRACE:
            raise ToldToGo


class Static:
    """The environment says, once for all."""

    can_recover = False

    def __init__(self, place: Place, stop: StopSignal) -> None:
        self._place = place
        self._stop = stop
        self._store: Store | None = None
        self.worker = _worker(place.rank)

    def next(self, after: int, *, has_state: bool) -> Membership:  # noqa: ARG002 - the same for all
        """The one there is; after it, that all are to leave."""
        place = self._place
        if after:
            return Membership(job=place.job, generation=after + 1, members=(), why="stop")
        members = (
            Member(worker=_worker(rank), node="", host=place.master_addr, port=0)
            for rank in range(place.world)
        )
        return Membership(job=place.job, generation=place.generation, members=tuple(members), why="start")

    def wanted(self, generation: int) -> str | None:  # noqa: ARG002 - there is one
        """To stop, after SIGTERM."""
        return "stop" if self._stop.asked else None

    def meet(self, group: Group, membership: Membership, note: str) -> tuple[str, ...]:  # noqa: ARG002
        """At the store of the launcher, or of rank 0."""
        if group.world == 1:
            return (note,)
        if self._store is None:
            self._store = next(iter(rendezvous("env://")))[0]
        return group.meet_at(self._store, note)

    def show(self, stage: Stage | None = None, **fields: Any) -> None:
        """There is nobody to see it."""

    def on_newer(self, callback: Callable[[Membership], None]) -> None:
        """Nothing is ever newer."""


def find_company(context: Context) -> Company:
    """As the process was started."""
    if context.place.kind is Kind.LINKED:
        assert context.link is not None
        return Linked(context.link, context.stop, context.place.host or "127.0.0.1")
    return Static(context.place, context.stop)


def _worker(rank: int) -> str:
    return f"rank.{rank}"
