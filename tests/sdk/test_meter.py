"""Throughput is that of the samples really processed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sdk.waiting import GUARD

from tenuto.sdk.meter import Meter
from tenuto.sdk.telling import Teller


class Recorded(Teller):
    """Keeps what is told."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[dict[str, Any]] = []

    def tell(self, kind: str, *, step: int, generation: int, **fields: Any) -> None:
        self.records.append({"kind": kind, "step": step, "generation": generation, **fields})


class Training:
    """Steps by a clock of its own."""

    def __init__(self, teller: Recorded, every: int = 10, rank: int = 0) -> None:
        self.now, self.step, self.samples, self.rank = 0.0, 0, 0, rank
        self.records = teller.records
        self.meter = Meter(teller, every, clock=lambda: self.now)

    def train(self, steps: int, *, batch: int, seconds: float, generation: int = 1, world: int = 2) -> None:
        for _ in range(steps):
            self.now += seconds
            self.step += 1
            self.samples += batch
            self.meter.stepped(
                step=self.step, samples=self.samples, generation=generation, rank=self.rank, world=world
            )


@pytest.fixture
def teller() -> Iterator[Recorded]:
    teller = Recorded()
    yield teller
    teller.close()


def test_two_workers_with_64_samples_each_and_a_second_a_step_make_128_samples_per_second(
    teller: Recorded,
) -> None:
    training = Training(teller)

    training.train(20, batch=2 * 64, seconds=1.0)

    assert [record["step"] for record in training.records] == [10, 20]
    assert {record["samples_per_second"] for record in training.records} == {128.0}
    assert {record["seconds"] for record in training.records} == {1.0}
    assert [record["samples"] for record in training.records] == [1280, 2560]


def test_fifty_steps_at_period_ten_make_five_points(teller: Recorded) -> None:
    training = Training(teller)

    training.train(50, batch=1, seconds=0.1)

    assert [record["step"] for record in training.records] == [10, 20, 30, 40, 50]


def test_a_smaller_last_batch_counts_as_what_it_is(teller: Recorded) -> None:
    training = Training(teller, every=2)

    training.train(3, batch=64, seconds=1.0)
    training.train(1, batch=16, seconds=1.0)

    assert training.records[-1]["samples_per_second"] == 40.0  # (64 + 16) / 2 s


def test_only_rank_0_speaks_for_the_whole_job(teller: Recorded) -> None:
    training = Training(teller, rank=1)

    training.train(10, batch=64, seconds=1.0)

    assert "samples_per_second" not in training.records[0]
    assert training.records[0]["seconds"] == 1.0


def test_the_pause_of_a_rescale_is_in_no_step_time(teller: Recorded) -> None:
    training = Training(teller)
    training.train(13, batch=128, seconds=1.0, generation=1, world=2)

    training.train(1, batch=128, seconds=100.0, generation=2, world=4)
    training.train(6, batch=128, seconds=0.5, generation=2, world=4)

    assert [(record["step"], record["seconds"], record["world"]) for record in training.records] == [
        (10, 1.0, 2),
        (20, 0.5, 4),
    ]
    assert training.records[1]["samples_per_second"] == 256.0


def test_a_first_step_alone_has_no_time(teller: Recorded) -> None:
    training = Training(teller, every=1)

    training.train(2, batch=8, seconds=1.0)

    assert [record["seconds"] for record in training.records] == [None, 1.0]


def test_reported_values_are_in_the_next_record(teller: Recorded) -> None:
    training = Training(teller, every=2)
    for loss in (0.5, 0.25):
        training.meter.report({"loss": loss})
        training.train(1, batch=8, seconds=1.0)

    assert training.records[0]["values"] == {"loss": 0.25}


def test_more_values_than_a_record_holds_are_left_out(teller: Recorded) -> None:
    training = Training(teller, every=1)
    training.meter.report({str(number): number for number in range(1000)})
    training.train(1, batch=8, seconds=1.0)

    assert len(training.records[0]["values"]) == 100


def test_the_newest_step_stands_in_the_workers_report(teller: Recorded, tmp_path: Path) -> None:
    training = Training(teller)
    training.meter.keep_progress(tmp_path / "report", lambda: 500)
    assert teller.flush(GUARD)
    assert not (tmp_path / "report").exists()

    training.train(7, batch=8, seconds=1.0)
    training.meter.report({"loss": 0.5, "step": "not this one"})
    assert teller.flush(GUARD)

    assert json.loads((tmp_path / "report").read_text(encoding="utf-8")) == {
        "loss": 0.5,
        "step": 7,
        "total": 500,
    }
