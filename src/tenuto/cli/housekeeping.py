"""What a server does beside serving: it sends nodes away that nobody wants any more, and ends when all is drained."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from threading import Event, Thread

from tenuto.engines.keeper import Keeper
from tenuto.engines.local import LocalEngine
from tenuto.model.event import Event as Happening
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import PLACED
from tenuto.store.base import Store, StoreUnavailable, Tx
from tenuto.store.credentials import release_credentials
from tenuto.wire.worker import WorkerState

log = logging.getLogger(__name__)

_LOOK = 0.2
"""Seconds between two looks while there is something to do."""
_REST = 2.0
"""Seconds between two looks while there is nothing to do, and no bell has rung."""
_FAREWELL = 30.0
"""Seconds in which a supervisor without workers leaves when it is told to, however busy the machine is."""
ACTOR = "tenuto up"


@dataclass(frozen=True, slots=True)
class Household:
    """What is looked after."""

    store: Store
    engine: LocalEngine
    keeper: Keeper
    local: Collection[str]
    """The nodes of this machine that are wanted."""
    unwanted: Collection[str]
    """Its nodes that were wanted once."""
    timeout: float = 15.0
    """Seconds of silence after which a node is not waited for."""


class Housekeeper:
    """A thread of its own, so that it neither waits for rounds nor makes them wait."""

    def __init__(self, household: Household, end: Callable[[], None]) -> None:
        self._home = household
        self._unwanted = set(household.unwanted)
        self._end = end
        self.done = False
        """Whether everything was drained, and everybody sent away."""
        self._enough = Event()
        self._bell = Event()
        self._thread = Thread(target=self._run, name="housekeeper", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Do no more; may be called by the housekeeper itself."""
        self._enough.set()
        self._bell.set()

    def _run(self) -> None:
        end_listening = self._home.store.listen(lambda _: self._bell.set())
        while not self._enough.wait(_LOOK):
            self._bell.clear()
            try:
                if self._home.store.read(lambda tx: bool(tx.meta("draining"))):
                    if self._all_quiet():
                        self._say_farewell()
                        self.done = True
                        self._end()
                        break
                elif self._unwanted:
                    self._unwanted = self._home.store.write(self._send_away)
                else:
                    self._bell.wait(_REST)
            except StoreUnavailable as trouble:
                log.warning("%s", trouble)
                self._enough.wait(5 * _LOOK)
            except Exception:
                log.exception("this is a fault of tenuto; it is tried again")
                self._enough.wait(5 * _LOOK)
        end_listening()

    # nodes that are not asked for any more

    def _send_away(self, tx: Tx) -> set[str]:
        """Drain each, and forget it when it is empty; returns those that are still there."""
        waiting = set()
        busy = {node for job in tx.live_jobs() for node, places in job.places.items() if places}
        for node in filter(None, map(tx.node, sorted(self._unwanted))):
            waiting.add(node.name)
            if node.state is NodeState.ONLINE:
                tx.put_node(replace(node, state=NodeState.DRAINING))
                tx.add_event(_told(node, NodeState.DRAINING.value))
            elif node.name not in busy:
                tx.remove_node(node.name)
                release_credentials(tx, node.name, time.time())
                tx.add_event(_told(node, "removed"))
                waiting.discard(node.name)
        return waiting

    # down

    def _all_quiet(self) -> bool:
        """Whether no worker runs or may run anywhere that can be reached."""
        seen = self._home.engine.observe()
        silent = {name for name in seen.nodes if seen.silence(name, since=0.0) > self._home.timeout}
        for worker in seen.workers.values():
            if worker.state is not WorkerState.EXITED and worker.node not in silent:
                return False
        # Supervisors obey a controller only, and one that compiles has not spoken yet.
        if seen.nodes and self._home.engine.term == 0:
            return False
        here = self._home.keeper.ended(
            self._home.local, timeout=0.0
        )  # without those that `node rm` sent away
        if not seen.nodes.keys() >= set(here):
            return False
        late = seen.listened > self._home.timeout
        return self._home.store.read(lambda tx: self._at_rest(tx, {*seen.nodes}, late=late))

    def _at_rest(self, tx: Tx, met: Collection[str], *, late: bool) -> bool:
        """Whether no job holds slots, and every node has been met that may still come; `late`, none will come."""
        if any(job.phase in PLACED or job.ending for job in tx.live_jobs()):
            return False
        return late or all(node.name in met or node.state is NodeState.OFFLINE for node in tx.nodes())

    def _say_farewell(self) -> None:
        elsewhere = set(self._home.engine.observe().nodes) - set(self._home.local)
        for name in {*elsewhere, *self._home.local}:
            self._home.engine.forget_node(name)
        late = self._home.keeper.ended(self._home.local, _FAREWELL)
        self._home.keeper.stop_watching()
        for name in late:
            log.warning("the supervisor of %s does not leave, so it is killed; it has no workers", name)
            if (process := self._home.keeper.process(name)) is not None and process.alive():
                os.kill(process.pid, signal.SIGKILL)
        if elsewhere:
            self._enough.wait(1.0)  # so that those on other machines hear it, too


def _told(node: Node, after: str) -> Happening:
    return Happening(
        kind="node",
        at=time.time(),
        actor=ACTOR,
        node=node.name,
        before=node.state.value,
        after=after,
        reason="the server was started again without it",
    )
