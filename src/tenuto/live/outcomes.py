"""What has become of all promises ever: counted in the transaction that writes it, so that each counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from tenuto.live.change import Change
from tenuto.model.phase import OPEN_PROMISES
from tenuto.monitor.facts import OUTCOMES
from tenuto.store.base import Tx


def keep_outcomes(tx: Tx, changes: Iterable[Change]) -> None:
    """Add the promises of which it has just turned out what becomes of them."""
    new = Counter(
        change.job.promise.value
        for change in changes
        if change.before.promise in OPEN_PROMISES and change.job.promise not in OPEN_PROMISES
    )
    if new:
        known: Mapping[str, int] = tx.meta(OUTCOMES) or {}
        tx.set_meta(OUTCOMES, dict(Counter(known) + new))
