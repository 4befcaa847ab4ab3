"""A whole platform in one process under a clock that jumps: real store, server and controller, a fake engine.

Nobody can put a virtual clock under a platform that serves people, so a rehearsal in virtual time has one of its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from tenuto.client.plain import PlainClient
from tenuto.engines.fake import FakeEngine
from tenuto.live.controller import Controller
from tenuto.model.cluster import Cluster
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.rehearsal.in_process import InProcess
from tenuto.server.app import create_app
from tenuto.server.auth import USER, digest_of
from tenuto.server.platform import Files
from tenuto.server.scene import Rule
from tenuto.settings import Settings
from tenuto.store.base import EventQuery, Store, Token, Tx
from tenuto.store.logs import LogStore
from tenuto.store.open import open_store
from tenuto.store.steps import StepStore

WHO = "rehearsal"
_MOST_TICKS = 50
_PAGE = 1000
_KEEP = 1 << 20
_HERE = "http://127.0.0.1"


class Clock(Protocol):
    """Shows the seconds that it was told."""

    now: float

    def __call__(self) -> float:
        """What time it is."""
        ...


class Jumping:
    """A clock that goes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """What time it is."""
        return self.now


class Stage:
    """The platform: submit to `client`, set `clock.now`, let it `settle`, look at its records.

    It is put upon a store whose server is asked through the client and goes by the same clock.
    """

    def __init__(self, store: Store, client: PlainClient, clock: Clock, cluster: Cluster, rule: Rule) -> None:
        self.store, self.client, self.clock = store, client, clock
        store.write(lambda tx: _furnish(tx, rule))
        self.engine = FakeEngine(clock)
        for name, slots in zip(cluster.node_names, cluster.slots.tolist(), strict=True):
            self.engine.add_node(name, slots)
        self._controller = Controller(
            store, self.engine, clock, Settings(scheduling=rule.scheduling), force=True
        )
        self._stirred = False
        self.engine.listen(self._stir)

    def _stir(self) -> None:
        self._stirred = True

    def settle(self) -> None:
        """Let the controller act until nothing changes any more."""
        before = self.store.revision()
        for _ in range(_MOST_TICKS):
            self._stirred = False
            complete, after = self._controller.tick(), self.store.revision()
            if complete and after == before and not self._stirred:
                return
            before = after
        raise AssertionError("the controller does not come to rest")

    @property
    def wake_at(self) -> float:
        """When the policy wants to be asked again."""
        wake_at = self.store.read(lambda tx: tx.meta("wake_at"))
        return inf if wake_at is None else float(wake_at)

    def job(self, id_: str) -> Job:
        """One job's record."""
        job = self.store.read(lambda tx: tx.job(id_))
        assert job is not None, f"there is no job {id_}"
        return job

    def events(self, kind: str) -> Iterator[Event]:
        """All events of a kind, oldest first."""
        query = EventQuery(kind=kind, limit=_PAGE)
        while found := self.store.read(lambda tx: tx.events(query)):  # noqa: B023 - read at once
            yield from found
            query = replace(query, after=found[-1].id)


@contextmanager
def a_stage(cluster: Cluster, rule: Rule) -> Iterator[Stage]:
    """A platform in a directory of its own, with a server that only we can ask; nothing of it remains."""
    clock, settings, secret = Jumping(), Settings(scheduling=rule.scheduling), secrets.token_hex()
    with TemporaryDirectory(prefix="tenuto-rehearsal-") as place, ExitStack() as cleanup:
        directory = Path(place)
        files = Files(LogStore(directory / "logs", _KEEP), StepStore(directory / "records", _KEEP))
        store = cleanup.enter_context(closing(open_store(f"sqlite:///{directory / 'store.sqlite'}")))
        store.write(lambda tx: tx.add_token(Token(digest=digest_of(secret), user=WHO, kind=USER)))
        app = create_app(store, files, settings, clock)
        cleanup.callback(app.state.platform.bell.close)
        client = cleanup.enter_context(PlainClient(_HERE, secret, InProcess(app)))
        yield Stage(store, client, clock, cluster, rule)


def _furnish(tx: Tx, rule: Rule) -> None:
    """Both worlds count from the same zero, so that no time is rounded on the way from one to the other."""
    tx.set_meta("epoch", 0.0)
    tx.set_meta("scheduling", rule.to_json())
