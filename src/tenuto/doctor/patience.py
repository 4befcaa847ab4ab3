"""Looking at things that may never answer, such as a file server that is gone, without waiting for ever."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


class NoAnswer(Exception):
    """It took too long, and may hang on for ever."""


def within(seconds: float, look: Callable[[], T]) -> T:
    """What `look` returns. Raises what it raises, or NoAnswer; its thread is then left to itself."""
    came: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            came.append(look())
        except Exception as error:  # noqa: BLE001  raised again below, in the caller's thread
            failed.append(error)

    thread = Thread(target=run, name="doctor", daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not came:
        raise NoAnswer
    return came[0]
