"""Leadership: which controller may act. A lease in the store; every new leader has a higher term than all before."""

from __future__ import annotations

from dataclasses import dataclass

from tenuto.store.base import Tx

KEY = "leadership"
LEASE = 15.0
"""Seconds for which a leader need not say that it is still there."""


class LeadershipLost(Exception):
    """Another controller acts now; this one must do nothing more."""


@dataclass(frozen=True, slots=True)
class Leadership:
    """The right to act, as long as nobody else has claimed a higher term."""

    term: int
    holder: str
    until: float

    def due_for_renewal(self, now: float) -> bool:
        """Whether a third of the lease is over."""
        return now >= self.renewal

    @property
    def renewal(self) -> float:
        """When to say again that the leader is there."""
        return self.until - LEASE * 2 / 3


def claim(tx: Tx, holder: str, now: float, *, force: bool = False) -> Leadership | None:
    """Become the leader with the next term; None while another one's lease runs.

    With `force` the lease does not count: whoever knows by other means (a lock on the home directory) that no
    other controller lives need not wait.
    """
    held = tx.meta(KEY)
    if held is not None and not force and held["holder"] != holder and held["until"] > now:
        return None
    term = 1 if held is None else held["term"] + 1
    return _write(tx, Leadership(term, holder, now + LEASE))


def renew(tx: Tx, leadership: Leadership, now: float) -> Leadership:
    """Say that the leader is still there. Raises LeadershipLost if it is not the leader any more."""
    check(tx, leadership)
    return _write(tx, Leadership(leadership.term, leadership.holder, now + LEASE))


def release(tx: Tx, leadership: Leadership, now: float) -> None:
    """Let the next one begin at once; the term stays, so that the next is higher."""
    held = tx.meta(KEY)
    if held is not None and held["term"] == leadership.term:
        _write(tx, Leadership(leadership.term, leadership.holder, now))


def check(tx: Tx, leadership: Leadership) -> None:
    """Raise LeadershipLost unless this is the present term."""
    held = tx.meta(KEY)
    if held is None or held["term"] != leadership.term:
        raise LeadershipLost(f"term {leadership.term} is over: {held}")


def _write(tx: Tx, leadership: Leadership) -> Leadership:
    tx.set_meta(KEY, {"term": leadership.term, "holder": leadership.holder, "until": leadership.until})
    return leadership
