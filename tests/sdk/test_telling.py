"""Telling costs the training thread an append; whatever goes wrong behind it stays there."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.sdk.disk import room_for
from tests.sdk.waiting import GUARD, wait_until

from tenuto.sdk.telling import Teller
from tenuto.sdk.worker_log import WorkerLog
from tenuto.wire.spool import Spool


class Told:
    """A spool in memory, that may be told to have no room or to be slow."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.lost = 0
        self.is_full = False
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.asked = threading.Event()

    def write(self, line: bytes) -> bool:
        self.asked.set()
        assert self.goes_on.wait(GUARD)
        if not self.is_full:
            self.records.append(json.loads(line))
        return not self.is_full

    def settle(self) -> bool:
        return not self.is_full

    def next_seq(self) -> int:
        return 0


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def teller(told: Told) -> Iterator[Teller]:
    teller = Teller(told, most_waiting=100)  # type: ignore[arg-type]
    yield teller
    told.goes_on.set()
    teller.close()


def test_records_come_in_order_with_their_numbers(teller: Teller, told: Told) -> None:
    for step in range(5):
        teller.tell("step", step=step, generation=3, values={"größe": step})

    assert teller.flush(GUARD)

    assert [(record["seq"], record["step"]) for record in told.records] == [(n, n) for n in range(5)]
    assert told.records[4] | {"at": 0} == {
        "seq": 4, "kind": "step", "at": 0, "generation": 3, "step": 4, "values": {"größe": 4},
    }  # fmt: skip


def test_nobody_needs_to_flush(teller: Teller, told: Told) -> None:
    teller.tell("step", step=1, generation=1)

    wait_until(lambda: told.records)


def test_a_disk_that_hangs_keeps_nobody_waiting(teller: Teller, told: Told) -> None:
    told.goes_on.clear()
    teller.tell("step", step=0, generation=1)
    assert told.asked.wait(GUARD)  # the background is stuck in a write now

    for step in range(1, 51):
        teller.tell("step", step=step, generation=1)

    assert not teller.flush(timeout=0.0)
    assert told.records == []
    told.goes_on.set()
    assert teller.flush(GUARD)
    assert [record["step"] for record in told.records] == list(range(51))


def test_without_room_records_wait_and_beyond_a_bound_the_oldest_are_counted(
    teller: Teller, told: Told
) -> None:
    told.is_full = True
    for step in range(150):
        teller.tell("step", step=step, generation=1)
    assert not teller.flush(GUARD)
    teller.tell("step", step=150, generation=1)

    told.is_full = False
    assert teller.flush(GUARD)

    assert [record["step"] for record in told.records] == list(range(51, 151))
    assert [record["seq"] for record in told.records] == list(
        range(100)
    )  # no gap that somebody would wait for
    assert told.records[-1]["dropped"] == 51


def test_what_was_deleted_unread_is_counted_too(teller: Teller, told: Told) -> None:
    told.lost = 7
    teller.tell("step", step=1, generation=1)
    teller.flush(GUARD)

    assert told.records[0]["dropped"] == 7


def test_numbers_are_fetched_in_the_background(teller: Teller, told: Told) -> None:
    fetched_by = []

    class OnDevice:
        def __float__(self) -> float:
            fetched_by.append(threading.current_thread().name)
            return 0.25

    teller.tell("step", step=1, generation=1, values={"loss": OnDevice()})
    wait_until(lambda: told.records)

    assert told.records[0]["values"] == {"loss": 0.25}
    assert fetched_by == ["tenuto-telling"]


def test_anything_may_be_told(teller: Teller, told: Told) -> None:
    class Hostile:
        def __float__(self) -> float:
            raise RuntimeError("CUDA error: device-side assert triggered")

    values = {
        "tensor": torch.tensor(0.5, requires_grad=True),
        "many": torch.ones(3),
        "nan": math.nan,
        "hostile": Hostile(),
        "text": "é\ud800",
        "nested": {1: [torch.tensor(2)]},
    }
    teller.tell("step", step=1, generation=1, values=values)
    teller.tell("step", step=2, generation=1, values={str(n): "x" * 100 for n in range(1000)})
    teller.tell("step", step=3, generation=1)

    assert teller.flush(GUARD)

    found = told.records[0]["values"]
    assert math.isnan(found.pop("nan"))
    assert found == {
        "tensor": 0.5,
        "many": "Tensor",
        "hostile": "Hostile",
        "text": "é?",
        "nested": {"1": [2.0]},
    }
    assert [(record["step"], record.get("dropped")) for record in told.records] == [(1, None), (3, 1)]


def test_many_threads_may_tell_at_once(teller: Teller, told: Told) -> None:
    def tell_ten() -> None:
        for step in range(10):
            teller.tell("step", step=step, generation=1)

    threads = [threading.Thread(target=tell_ten) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)
    teller.flush(GUARD)

    assert [record["seq"] for record in told.records] == list(range(80))
    assert all("dropped" not in record for record in told.records)


def test_a_log_has_no_gap_after_a_full_disk(tmp_path: Path) -> None:
    teller = Teller(Spool(tmp_path / "steps"), WorkerLog(tmp_path / "logs", "node", "0"))
    with room_for(500):
        for step in range(20):
            teller.tell("step", step=step, generation=1)
        assert not teller.flush(GUARD)
    teller.close()

    lines = (tmp_path / "steps" / f"{0:020d}").read_text(encoding="utf-8").splitlines()
    whole = [json.loads(line) for line in lines]
    assert [record["seq"] for record in whole] == list(range(20))
    assert [record["step"] for record in whole] == list(range(20))


def test_without_a_place_to_write_to_nothing_is_written_and_nothing_piles_up() -> None:
    teller = Teller()
    for step in range(1000):
        teller.tell("step", step=step, generation=1)

    assert teller.flush(GUARD)
    teller.close()


def test_closing_brings_the_rest_to_disk(told: Told) -> None:
    before = set(threading.enumerate())
    teller = Teller(told)  # type: ignore[arg-type]
    teller.tell("summary", step=9, generation=1)

    teller.close()

    assert [record["kind"] for record in told.records] == ["summary"]
    assert not set(threading.enumerate()) - before
