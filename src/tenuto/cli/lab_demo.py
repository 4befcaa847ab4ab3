"""`tenuto lab demo`: ten jobs, one server, every policy."""

from __future__ import annotations


def demo() -> None:
    """Replay ten jobs on one server of eight slots under every policy."""
