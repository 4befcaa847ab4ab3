"""Policies that decide along without acting, for a small share of one processor.

Every time the last week is replayed from the records, under each of them, in a world of its own; nothing is
remembered between two times, so a restart costs nothing but the work. The controller never waits for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from threading import Event as Flag

from tenuto.forecast.alongside import a_world, live_along
from tenuto.forecast.pauses import PAUSES, rescale_charge
from tenuto.forecast.shadow import KEY, Shadow, Shown
from tenuto.live.chronicle import Chapter, Chronicle
from tenuto.live.mirror import scheduling_in
from tenuto.live.policy_in_force import PolicyInForce, rules_of
from tenuto.settings import Scheduling, scheduling_in_force
from tenuto.sim.loop import warm_up
from tenuto.store.base import Store, StoreUnavailable, Tx

LOG = logging.getLogger("tenuto.shadow")
SHARE = 0.05
"""Part of one processor that all shadows together take at most, but for the first seconds of a policy's kernels."""
SLICE = 0.02
"""CPU seconds after which they let the others go first."""
LOOKS_EVERY = 0.5
"""Seconds after which a wish or a stop is noticed at the latest."""
RESTS = 10.0
"""Seconds between two times at least."""
GROWS_OLD = 60.0
"""Seconds after which they decide anew although nothing was written: in their worlds jobs go on."""


class Stopped(Exception):
    """They shall end."""


class Pace:
    """Lets a thread work for a share of the time only."""

    def __init__(self, stop: Flag, share: float = SHARE) -> None:
        self._stop, self._share = stop, share
        self._worked_until = time.thread_time()

    def breathe(self) -> None:
        """Rest for as long as the work since the last time demands. Raises Stopped."""
        worked = time.thread_time() - self._worked_until
        if worked >= SLICE and self._stop.wait(worked * (1.0 / self._share - 1.0)):
            raise Stopped
        if worked >= SLICE:
            self._worked_until = time.thread_time()


class Shadows:
    """Belongs to the thread that calls `run`; what was found out last may be read from any."""

    def __init__(self, store: Store, clock: Callable[[], float], default: Scheduling) -> None:
        self._store, self._clock, self._default = store, clock, default
        self._chronicle = Chronicle()
        self._shown: tuple[Shown, ...] = ()

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What each shadow has come to, in the order in which they were named."""
        return self._shown

    def run(self, stop: Flag) -> None:
        """Decide along until told to stop, whatever happens."""
        seen, next_at = -1, 0.0
        while not stop.wait(LOOKS_EVERY):
            now = time.monotonic()
            try:
                revision = self._store.revision()
                due = now >= next_at and (revision != seen or now >= next_at + GROWS_OLD)
                if due or self._wish_changed():
                    self.look(Pace(stop))
                    seen, next_at = revision, time.monotonic() + RESTS
            except Stopped:
                return
            except StoreUnavailable as problem:
                LOG.warning("the past cannot be read now: %s", problem)
            except Exception:
                LOG.exception("the shadows failed; they begin again in %g s", RESTS)
                next_at = now + RESTS

    def look(self, pace: Pace) -> None:
        """Let every shadow decide up to now; those that are not wished any more are forgotten."""
        wanted = self._store.read(lambda tx: Shadow.written(tx.meta(KEY)))
        known = {one.shadow.policy: one for one in self._shown if one.shadow in wanted}
        self._shown = tuple(known.get(shadow.policy, Shown(shadow)) for shadow in wanted)
        if not wanted:
            self._chronicle = Chronicle()
        for shadow in wanted:
            shown = self._tried(shadow, pace)
            self._shown = tuple(shown if one.shadow == shadow else one for one in self._shown)

    def _wish_changed(self) -> bool:
        wanted = self._store.read(lambda tx: Shadow.written(tx.meta(KEY)))
        return wanted != tuple(one.shadow for one in self._shown)

    # one shadow

    def _tried(self, shadow: Shadow, pace: Pace) -> Shown:
        """Decide along; what a policy does wrong is told, and harms nobody."""
        begun = time.thread_time()
        try:
            shown = self._decided(shadow, pace)
        except (Stopped, StoreUnavailable):
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a policy of one's own may do anything
            problem = f"{type(error).__name__}: {error}"
            return Shown(shadow, at=self._clock(), cpu_seconds=time.thread_time() - begun, problem=problem)
        return replace(shown, cpu_seconds=time.thread_time() - begun)

    def _decided(self, shadow: Shadow, pace: Pace) -> Shown:
        now = self._clock()
        chapter, scheduling, rescale_cost = self._store.read(lambda tx: self._read(tx, shadow, now))
        policy = PolicyInForce().find(replace(scheduling, policy=shadow.policy), shadow.settings)
        rules = rules_of(scheduling)
        warm_up(policy, rules)
        pace.breathe()
        world = a_world(chapter.past, rules, scheduling.start_cost, rescale_cost)
        for _ in live_along(world, policy, now):
            pace.breathe()
        return Shown(
            shadow,
            past=chapter.past,
            world=world.imagined(),
            at=now,
            guessed=dict(chapter.guessed),
            left_out=dict(chapter.left_out),
            more=chapter.more,
        )

    def _read(self, tx: Tx, shadow: Shadow, now: float) -> tuple[Chapter, Scheduling, float]:
        in_force = scheduling_in(tx, self._default)
        scheduling = scheduling_in_force(dict(shadow.general), in_force)
        strategies = (job.spec.strategy for job in tx.live_jobs() if job.is_planned)
        charge = rescale_charge(scheduling.rescale_cost, tx.meta(PAUSES) or {}, strategies)
        return self._chronicle.read(tx, now), scheduling, charge.seconds
