"""A tick of the controller, taken apart: how long each of its parts takes, and how often it asks for what is dear."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from tenuto.live import controller, rule
from tenuto.live.controller import Controller

PARTS: tuple[tuple[str, Any, str], ...] = (
    ("reconcile", controller, "reconcile"),
    ("picture", rule, "picture"),
    ("round", rule, "run_round"),
    ("decide", controller, "decide"),
    ("commit", Controller, "_write"),
    ("want", Controller, "_act"),
    ("read", Controller, "_recorded"),
    ("due?", Controller, "_is_due"),
)
"""What is measured, and where it is called from."""


class Ticks:
    """Processor seconds of this process by part, all threads counted: the machine may be busy with other work."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.wall = 0.0

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, with its time taken."""

        def run(*args: Any, **named: Any) -> Any:
            begun = time.process_time()
            try:
                return call(*args, **named)
            finally:
                self.seconds[part] += time.process_time() - begun

        return run

    def tick(self, one: Controller) -> bool:
        """Do one tick."""
        self.seconds.clear()
        begun, wall = time.process_time(), time.perf_counter()
        complete = one.tick()
        self.seconds["all"] = time.process_time() - begun
        self.wall = time.perf_counter() - wall
        return complete

    def row(self) -> dict[str, float]:
        """Milliseconds by part of the last tick."""
        known = {"all", *(part for part, _, _ in PARTS), "observe"}
        rest = self.seconds["all"] - sum(self.seconds[part] for part in known - {"all"})
        order = ("observe", "read", "reconcile", "due?", "picture", "round", "decide", "commit", "want")
        parts = {part: 1e3 * self.seconds[part] for part in order}
        return {"wall ms": 1e3 * self.wall, "CPU ms": 1e3 * self.seconds["all"], **parts, "other": 1e3 * rest}


@contextmanager
def taken_apart(engine: Any) -> Iterator[Ticks]:
    """Measure the ticks of all controllers over this engine."""
    ticks = Ticks()
    with ExitStack() as stack:
        for part, where, name in PARTS:
            stack.enter_context(patch.object(where, name, ticks.timed(part, getattr(where, name))))
        stack.enter_context(patch.object(engine, "observe", ticks.timed("observe", engine.observe)))
        yield ticks
