"""Who watches the controller at work. It tells what it did and how long that took, and asks nothing."""

from __future__ import annotations

from typing import Protocol

DONE, AGAIN, STANDBY, STORE, FAILED = "done", "again", "standby", "store", "failed"
"""What comes of a tick: all was written; something changed meanwhile; another controller leads; the store took no
writes; our own fault."""


class Onlooker(Protocol):
    """Called from the controller's thread, so it must not take long."""

    def ticked(self, outcome: str, seconds: float, at: float) -> None:
        """A tick took so long and was over at that moment."""
        ...

    def ruled(self, seconds: float) -> None:
        """A round of the policy took so long."""
        ...


class Nobody:
    """Where nobody watches."""

    def ticked(self, outcome: str, seconds: float, at: float) -> None:
        """Look away."""

    def ruled(self, seconds: float) -> None:
        """Look away."""
