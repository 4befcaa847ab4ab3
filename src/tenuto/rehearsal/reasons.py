"""Why a job ended at another time on the platform than in the simulator: from what both have recorded. Pure.

All times are seconds of the trace; what the machine took is told in its own milliseconds as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tenuto.rehearsal.evidence import Evidence
from tenuto.rehearsal.walk import Walk

CLOSE = 0.05
"""Share of its duration by which a job may end earlier or later and still count as the same."""
_WORTH = 0.01
"""Share of its duration below which a cause is not worth a word."""
_MOST_SIZES = 8


@dataclass(frozen=True, slots=True)
class Fidelity:
    """One job in both tellings."""

    simulated: Walk
    live: Evidence
    off: float | None
    """By which share of its simulated duration it ended later; None if it ended in one of them only."""
    reasons: Sequence[str] = ()
    """Why, if that is too much."""

    @property
    def close(self) -> bool:
        """Whether both say the same, near enough."""
        same = self.simulated.verdict == self.live.walk.verdict
        return same and (self.off is None or abs(self.off) <= CLOSE) and not self._one_sided

    @property
    def _one_sided(self) -> bool:
        return (self.simulated.finished is None) != (self.live.walk.finished is None)


def fidelity(simulated: Walk, live: Evidence, speedup: float) -> Fidelity:
    """Compare one job; the evidence's walk is in the seconds of the trace."""
    found = Fidelity(simulated, live, _off(simulated, live.walk))
    if found.close:
        return found
    reasons = list(_reasons(simulated, live, speedup))
    return Fidelity(simulated, live, found.off, reasons)


def _off(simulated: Walk, live: Walk) -> float | None:
    if simulated.finished is None or live.finished is None:
        return None
    assert simulated.duration is not None, "it has finished"
    return (live.finished - simulated.finished) / simulated.duration


def _reasons(simulated: Walk, live: Evidence, speedup: float) -> Iterator[str]:
    walk = live.walk
    if simulated.verdict != walk.verdict:
        yield f"{walk.verdict} here ({walk.why or 'as asked'}), {simulated.verdict} in the simulator" + _late(
            simulated, walk
        )
        return
    if walk.finished is None or simulated.finished is None:
        yield f"{live.state} here: {live.message}" if walk.finished is None else "never ends in the simulator"
        return
    causes = _causes(simulated, live, speedup)
    least = _WORTH * (simulated.duration or 0.0)
    telling = [cause for cause in causes if abs(cause.seconds) >= least]
    yield from (str(cause) for cause in sorted(telling, key=lambda cause: -abs(cause.seconds)))
    if live.lost:
        yield f"{len(live.lost)} workers were lost; {live.lost[0]}"


@dataclass(frozen=True, slots=True)
class Cause:
    """A part of the difference, in seconds of the trace, and what it comes from."""

    seconds: float
    told: str

    def __str__(self) -> str:
        return f"{self.seconds:+,.0f} s: {self.told}"


def _causes(simulated: Walk, live: Evidence, speedup: float) -> list[Cause]:
    """The difference between the two ends, taken apart."""
    walk = live.walk
    assert walk.finished is not None and simulated.finished is not None, "both have finished"
    parts = [
        Cause(walk.submitted - simulated.submitted, "submitted later"),
        Cause(_waited(walk) - _waited(simulated), _waiting(simulated, walk, speedup)),
        Cause(sum(live.starts) * speedup, _starting(live.starts, speedup)),
        Cause(live.noticed * speedup, f"its end was seen {1000 * live.noticed:,.0f} ms after it"),
    ]
    rest = walk.finished - simulated.finished - sum(part.seconds for part in parts)
    return [*parts, Cause(rest, _sizes(simulated, walk))]


def _waited(walk: Walk) -> float:
    """Until it was given slots; how long its processes took from then on is another cause."""
    return walk.changes[0].at - walk.submitted if walk.changes else 0.0


def _waiting(simulated: Walk, live: Walk, speedup: float) -> str:
    """Slots that were free were given late by the round itself; else others held them longer, or shorter."""
    if _waited(simulated) == 0.0 and live.changes:
        late = _waited(live) / speedup
        return f"its first slots were given {1000 * late:,.0f} ms after it was submitted, by the next round with room"
    return "its first slots, for which it waits in both, came at another time"


def _starting(starts: Sequence[float], speedup: float) -> str:
    if not starts:
        return "no process was started"
    mean = sum(starts) / len(starts)
    times = "once" if len(starts) == 1 else f"{len(starts)} times"
    return (
        f"{times} its processes were there only {1000 * mean:,.0f} ms after the decision, "
        f"which are {mean * speedup:,.0f} s of the trace"
    )


def _sizes(simulated: Walk, live: Walk) -> str:
    one, other = _path(simulated), _path(live)
    if one == other and len(live.changes) <= 1:
        return "what its processes, once there, took beyond the curve"
    if one == other:
        return f"rescaled at other moments ({one})"
    return f"other sizes: {other} here, {one} in the simulator"


def _path(walk: Walk) -> str:
    sizes = [str(change.slots) for change in walk.changes]
    short = sizes if len(sizes) <= _MOST_SIZES else [*sizes[:_MOST_SIZES], f"… {len(sizes)} in all"]
    return "→".join(short)


def _late(simulated: Walk, live: Walk) -> str:
    late = live.submitted - simulated.submitted
    return f", which it reached {late:+,.0f} s later" if abs(late) >= 1.0 else ""
