"""The program that stands in for a worker: it takes its time, keeps how far it is, and goes on from there."""

from __future__ import annotations

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenuto.rehearsal import stand_in

GUARD = 60.0


@contextmanager
def a_worker(
    place: Path, *, steps: float, curve: dict[int, float] | None = None, workers: int = 1, rank: int = 0
) -> Iterator[subprocess.Popen[bytes]]:
    """A stand-in as a supervisor starts it."""
    told = {"steps": steps, "curve": curve or {1: 10.0}, "start_cost": 0.0, "rescale_cost": 0.0}
    worker = subprocess.Popen(
        [sys.executable, "-I", "-c", inspect.getsource(stand_in)],
        env=os.environ
        | {
            "TENUTO_PARAMS": json.dumps(told),
            "TENUTO_CHECKPOINT_DIR": str(place),
            "TENUTO_JOB_ID": "práce",
            "WORLD_SIZE": str(workers),
            "RANK": str(rank),
        },
    )
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait(GUARD)


def until_it_has_saved(place: Path) -> None:
    give_up = time.monotonic() + GUARD
    while not (place / "práce").exists():
        assert time.monotonic() < give_up, "nothing was saved"
        time.sleep(0.02)


def done(place: Path) -> float:
    return stand_in.read(str(place / "práce"))[0]


def test_it_ends_when_its_steps_are_done(tmp_path: Path) -> None:
    with a_worker(tmp_path, steps=1.0) as worker:
        assert worker.wait(GUARD) == 0


def test_told_to_stop_it_writes_down_how_far_it_is(tmp_path: Path) -> None:
    with a_worker(tmp_path, steps=1e9) as worker:
        until_it_has_saved(tmp_path)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(GUARD) == stand_in.DRAINED

    assert 0.0 < done(tmp_path) < 1e9


def test_the_next_one_goes_on_from_there(tmp_path: Path) -> None:
    stand_in.write(str(tmp_path / "práce"), 999_999.0, time.time())

    with a_worker(tmp_path, steps=1_000_000.0) as worker:
        assert worker.wait(GUARD) == 0


def test_only_the_first_worker_keeps_the_count(tmp_path: Path) -> None:
    with a_worker(tmp_path, steps=1.0, curve={2: 1.0}, workers=2, rank=1) as worker:
        assert worker.wait(GUARD) == 0

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("ago", "cost"), [(0.0, 5.0), (60.0, 7.0)], ids=["a rescale", "a start"])
def test_it_pays_for_a_rescale_or_for_a_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ago: float, cost: float
) -> None:
    now, waited = [1000.0], []
    stand_in.write(str(tmp_path / "práce"), 90.0, now[0] - ago)
    told = {"steps": 100.0, "curve": {"1": 1.0}, "start_cost": 7.0, "rescale_cost": 5.0}
    variables = {"TENUTO_PARAMS": json.dumps(told), "TENUTO_CHECKPOINT_DIR": str(tmp_path)}
    for name, value in (variables | {"TENUTO_JOB_ID": "práce", "WORLD_SIZE": "1", "RANK": "1"}).items():
        monkeypatch.setenv(name, value)

    def wait(_signals: set[signal.Signals], seconds: float) -> None:
        waited.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(signal, "sigtimedwait", wait)
    monkeypatch.setattr(signal, "pthread_sigmask", lambda *_: None)

    assert stand_in.main() == 0
    assert sum(waited) == pytest.approx(cost + 10.0)
