"""The controller's thread: it ticks when a bell rings or the time has come, and nothing that happens ends it."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from threading import Event as Flag
from time import perf_counter
from typing import Any, Protocol

from tenuto.engines.base import Engine
from tenuto.live.leadership import LeadershipLost
from tenuto.live.mirror import scheduling_in, tuning_in
from tenuto.live.onlooker import AGAIN, DONE, FAILED, STANDBY, STORE, Nobody, Onlooker
from tenuto.live.policy_in_force import PolicyInForce, rules_of
from tenuto.settings import Settings
from tenuto.sim.loop import warm_up
from tenuto.store.base import Store, StoreUnavailable

LOG = logging.getLogger("tenuto.live")
SHORTEST = 0.02
"""Seconds between two ticks, so that what happens at the same time is looked at once."""
REST = 0.5
"""Of a tick's own time, how much passes at least before the next one: the interpreter belongs to requests as well, and
the more newcomers a tick answers at once, the less each of them costs."""
LONGEST_REST = 0.5
LISTENS_EVERY = 0.25
"""Seconds after which a stop is noticed at the latest."""
LONGEST = 2.0
"""Seconds after which it looks even if no bell has rung."""
STANDS_BY = 1.0
"""Seconds between two looks whether leadership is free, or the store is back."""
LONGEST_BACKOFF = 30.0


class Ticking(Protocol):
    """What the loop needs of a controller."""

    settings: Settings

    def tick(self) -> bool:
        """Look, decide, act; False if it should be done again at once."""
        ...

    def next_look(self, now: float) -> float:
        """When there will be something to do although nothing happens."""
        ...

    def resign(self) -> None:
        """Let the next controller begin at once."""
        ...


class Loop:
    """Runs a controller in the thread that calls `run`."""

    def __init__(
        self,
        controller: Ticking,
        store: Store,
        engine: Engine,
        clock: Callable[[], float],
        onlooker: Onlooker | None = None,
    ) -> None:
        self._controller, self._store, self._engine, self._clock = controller, store, engine, clock
        self._onlooker = onlooker or Nobody()
        self._bell = Flag()
        self._failures = 0
        self._rest = SHORTEST

    def run(self, stop: Flag) -> None:
        """Tick until told to stop. Workers go on afterwards."""
        listening = [self._store.listen(lambda _: self._bell.set()), self._engine.listen(self._bell.set)]
        try:
            self._say("compiling")
            self._warm_up()
            _stay_for_good()
            self._say("deciding")
            while not stop.is_set():
                self._bell.clear()
                self._wait(stop, self._turn())
        finally:
            for end in listening:
                end()
            self._attempt(self._controller.resign)
            self._say("stopped")

    def _turn(self) -> float:
        """One tick, whatever comes of it; returns for how many seconds to wait if no bell rings."""
        begun, exactly = self._clock(), perf_counter()
        outcome = FAILED
        try:
            complete = self._controller.tick()
            outcome = DONE if complete else AGAIN
        except LeadershipLost as lost:
            LOG.info("standing by: %s", lost)
            outcome = STANDBY
            return STANDS_BY
        except StoreUnavailable as problem:
            LOG.warning("the store takes no writes, workers go on: %s", problem)
            outcome = STORE
            return STANDS_BY
        except Exception:
            LOG.exception("a tick failed; workers go on as they are")
            self._failures += 1
            self._bell.clear()
            return min(2.0**self._failures, LONGEST_BACKOFF)
        finally:
            self._onlooker.ticked(outcome, perf_counter() - exactly, self._clock())
        self._failures = 0
        now = self._clock()
        self._rest = min(max(REST * (now - begun), SHORTEST), LONGEST_REST)
        return min(max(self._controller.next_look(now) - now, 0.0), LONGEST) if complete else 0.0

    def _wait(self, stop: Flag, seconds: float) -> None:
        stop.wait(self._rest)
        left = seconds - self._rest
        # After a failure of our own a bell must not lead to the next one at once.
        while left > 0.0 and not stop.is_set() and (self._failures or not self._bell.is_set()):
            part = min(left, LISTENS_EVERY)
            if self._failures:
                stop.wait(part)
            else:
                self._bell.wait(part)
            left -= part

    def _warm_up(self) -> None:
        """Compile or load the kernels of the policy in force before the first job waits for them."""
        try:
            default = self._controller.settings.scheduling
            scheduling, tuning = self._store.read(lambda tx: (scheduling_in(tx, default), tuning_in(tx)))
            policy = PolicyInForce().find(scheduling, tuning)
            seconds = warm_up(policy, rules_of(scheduling))
            LOG.debug("kernels are ready after %.1f s", seconds)
        except (Exception, SystemExit):
            LOG.exception("the policy could not be tried out; rounds will tell")

    def _say(self, state: str) -> None:
        self._attempt(
            lambda: self._store.write(
                lambda tx: tx.set_meta("controller", {"state": state, "at": self._clock()})
            )
        )

    def _attempt(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except StoreUnavailable as problem:
            LOG.warning("not written down: %s", problem)


def _stay_for_good() -> None:
    """Let no later collection of garbage look at what was imported and compiled: that alone takes 0.1 s each time."""
    gc.collect()
    gc.freeze()
