"""What `report` costs the training thread, counted and not timed, and what it never does there."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from tests.sdk.waiting import GUARD, wait_until

import tenuto

MOST_OPCODES = 700
"""A CPU needs some 30 to 50 ns for one, so these are at most 35 µs; the bound is 50."""


@pytest.fixture
def run(tmp_path: Path) -> Iterator[tenuto.Run]:
    run = tenuto.init(report_every=10, log_dir=tmp_path / "log")
    yield run
    run.finish()


def opcodes_of(act: Callable[[], object]) -> int:
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return count


def c_calls_of(act: Callable[[], object]) -> list[str]:
    called = []

    def profile(_: FrameType, event: str, function: Any) -> None:
        if event == "c_call":
            called.append(function.__name__)

    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(None)
    called.remove("setprofile")
    return called


@pytest.mark.parametrize("values", [{"loss": 0.5}, {"loss": torch.tensor(0.5), "größe": 1, "accuracy": 0.9}])
def test_a_report_takes_a_few_hundred_opcodes_at_most(run: tenuto.Run, values: dict[str, Any]) -> None:
    counts = [opcodes_of(lambda: run.report(**values)) for _ in range(30)]

    assert 0 < max(counts) <= MOST_OPCODES


def test_a_report_opens_writes_locks_and_converts_nothing(run: tenuto.Run) -> None:
    loss = torch.tensor(0.5, requires_grad=True)

    called = {name for _ in range(30) for name in c_calls_of(lambda: run.report(loss=loss))}

    harmless = {
        "getattr",
        "len",
        "items",
        "append",
        "next",
        "time",
        "monotonic",
        "detach",
        "clone",
        "isinstance",
    }
    assert called <= harmless


def test_a_number_on_a_device_is_fetched_by_another_thread(run: tenuto.Run, tmp_path: Path) -> None:
    fetched_by: list[str] = []

    class OnDevice:
        def detach(self) -> OnDevice:
            return self

        def clone(self) -> OnDevice:
            return self

        def item(self) -> float:
            fetched_by.append(threading.current_thread().name)
            return 0.5

    for _ in range(10):
        run.report(loss=OnDevice())
    wait_until(lambda: fetched_by)

    assert set(fetched_by) == {"tenuto-telling"}


def test_what_is_changed_after_it_was_reported_is_told_as_it_was(run: tenuto.Run, tmp_path: Path) -> None:
    total = torch.tensor(1.0)
    for _ in range(10):
        run.report(total=total)
    total.zero_()
    run.context.teller.flush(GUARD)

    (log,) = (tmp_path / "log").glob("*.jsonl")
    assert '"values":{"total":1.0}' in log.read_text(encoding="utf-8")


def test_a_report_keeps_no_graph_alive(run: tenuto.Run) -> None:
    weight = torch.ones(3, requires_grad=True)
    freed = []

    class Watched(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
            ctx.watch = Watch()
            return value.sum()

        @staticmethod
        def backward(ctx: Any, *_: torch.Tensor) -> torch.Tensor:
            raise NotImplementedError

    class Watch:
        def __del__(self) -> None:
            freed.append(True)

    loss = Watched.apply(weight)  # type: ignore[no-untyped-call]
    run.report(loss=loss)
    del loss

    assert freed == [True]
