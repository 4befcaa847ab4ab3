"""When jobs will be done, for whoever looks at them: foreseen now and then, in a thread of its own, and kept.

Nobody waits long for it. Who asks while it is being looked at gets it if that is quick, else what was seen before;
and looking never takes more than a part of one processor's time, however many ask.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from tenuto.model.phase import PLANNED
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import EtaOut, JobOut

if TYPE_CHECKING:  # they load compiled kernels, which nobody shall wait for who only wants a list
    from tenuto.forecast.eta import Eta
    from tenuto.forecast.future import Future
    from tenuto.server.scene import View

LOG = logging.getLogger("tenuto.outlook")
PATIENCE = 0.25
"""Seconds that a question waits for a look that is under way."""
REST = 4.0
"""After a look nobody looks again for so many times as long as it took, but for no longer than `OLDEST`."""
OLDEST = 15.0
"""Seconds after which it is looked anew though nothing was written: jobs go on meanwhile."""
_STATES = frozenset(map(str, PLANNED))


@dataclass(frozen=True)
class Seen:
    """What was foreseen, and when."""

    as_of: float = 0.0
    etas: Mapping[str, Eta] = field(default_factory=dict)
    """By job id."""
    future: Future | None = None
    """The look itself; None if there was nobody to look for."""

    def of(self, job: JobOut) -> EtaOut | None:
        """A job's future; None if it has none (it waits for nothing, or has ended), or nobody has looked yet."""
        eta = self.etas.get(job.id)
        if eta is None or job.state not in _STATES or job.wish or job.ended_at:
            return None
        return EtaOut(
            start=None if job.started_at else _moment(eta.start),
            finish=_moment(eta.finish),
            finish_p90=_moment(eta.late),
            as_of=rfc3339(self.as_of),
        )

    def beside(self, job: JobOut) -> JobOut:
        """A job with its future."""
        eta = self.of(job)
        return job if eta is None else job.model_copy(update={"eta": eta})


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else rfc3339(seconds)


class Outlook:
    """The future as it was last seen. Safe to use from any thread."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = Seen()
        self._revision = -1
        self._looked_at = -inf
        self._rests_until = -inf
        self._looking: threading.Event | None = None

    @property
    def last(self) -> Seen:
        """What was seen last, without looking again."""
        return self._seen

    def now(self, revision: int, take: Callable[[], View], patience: float = PATIENCE) -> Seen:
        """What is seen of the store's state of that revision, or what was seen before if that takes too long."""
        with self._lock:
            outdated = revision != self._revision or self._clock() - self._looked_at > OLDEST
            if self._looking is None and outdated and self._clock() >= self._rests_until:
                self._looking = threading.Event()
                threading.Thread(
                    target=self._look, args=(revision, take, self._looking), name="outlook", daemon=True
                ).start()
            looking = self._looking
        if looking is not None:
            looking.wait(patience)
        return self._seen

    def _look(self, revision: int, take: Callable[[], View], done: threading.Event) -> None:
        begun = self._clock()
        try:
            self._seen = foreseen(take())
        except Exception as error:  # noqa: BLE001  a policy may do anything; a list is shown all the same
            LOG.warning("when jobs will be done cannot be foreseen: %s: %s", type(error).__name__, error)
            self._seen = replace(self._seen, etas={}, future=None)
        finally:
            with self._lock:
                self._revision, self._looked_at = revision, self._clock()
                self._rests_until = self._looked_at + min(REST * (self._looked_at - begun), OLDEST)
                self._looking = None
            done.set()


def foreseen(view: View) -> Seen:
    """Look ahead for everybody who was answered. Where nobody was, no kernel is loaded for it."""
    if not any(job.is_planned and job.contract is not None for job in view.jobs):
        return Seen(view.now)
    from tenuto.forecast.future import foresee_cheaply

    policy = view.rule.policy()
    future = foresee_cheaply(view.scene(policy), policy, view.past)
    return Seen(view.now, future.etas, future)
