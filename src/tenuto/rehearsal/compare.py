"""Two tellings of the same trace, the simulator's and the platform's: what differs, and where they part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from tenuto.rehearsal.walk import Change, Walk


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing about one job that is told in two ways."""

    job: str
    what: str
    simulated: object
    live: object

    def __str__(self) -> str:
        return f"job {self.job}: {self.what} {_shown(self.simulated)} simulated, {_shown(self.live)} live"


@dataclass(frozen=True, slots=True)
class Parting:
    """The first moment at which a job got other slots, or another answer, than in the other telling."""

    at: float
    job: str
    simulated: str
    live: str

    def __str__(self) -> str:
        return (
            f"They part at {self.at:,.3f} s: job {self.job} {self.simulated} in the simulator, "
            f"and {self.live} on the platform; what differs later follows from that"
        )


def differences(simulated: Sequence[Walk], live: Sequence[Walk]) -> list[Difference]:
    """Everything that is not exactly the same, job by job."""
    pairs = zip(simulated, live, strict=True)
    return [difference for walks in pairs for difference in _between(*walks)]


def _between(simulated: Walk, live: Walk) -> Iterator[Difference]:
    for what in ("verdict", "why", "promised", "started", "finished"):
        one, other = getattr(simulated, what), getattr(live, what)
        if one != other:
            yield Difference(simulated.job, what, one, other)
    if len(simulated.changes) != len(live.changes):
        yield Difference(simulated.job, "rescales", len(simulated.changes), len(live.changes))
    elif simulated.changes != live.changes:
        yield Difference(simulated.job, "slots", _sizes(simulated), _sizes(live))


def parting(simulated: Sequence[Walk], live: Sequence[Walk]) -> Parting | None:
    """Where the two tellings part; None if they never do."""
    found = (_first(*walks) for walks in zip(simulated, live, strict=True))
    return min((one for one in found if one is not None), key=lambda one: one.at, default=None)


def _first(simulated: Walk, live: Walk) -> Parting | None:
    if simulated.verdict != live.verdict:
        return Parting(simulated.submitted, simulated.job, f"is {simulated.verdict}", f"is {live.verdict}")
    for one, other in zip_longest(simulated.changes, live.changes):
        if one != other:
            at = min(change.at for change in (one, other) if change is not None)
            return Parting(at, simulated.job, _gets(one, at), _gets(other, at))
    if simulated.finished == live.finished:
        return None
    ends = [end for end in (simulated.finished, live.finished) if end is not None]
    return Parting(min(ends), simulated.job, _ends(simulated), _ends(live))


def _gets(change: Change | None, at: float) -> str:
    if change is None or change.at != at:
        return "keeps what it has"
    return f"gets {change.slots} slots" if change.slots else "gives its slots away"


def _ends(walk: Walk) -> str:
    return "does not end" if walk.finished is None else f"ends at {walk.finished:,.3f} s"


def _sizes(walk: Walk) -> str:
    return ", ".join(f"{change.slots} at {change.at:,.3f} s" for change in walk.changes)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.6f} s"
    return "never" if value is None else str(value) or "none"
