"""What a supervisor offers whose driver does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.nvml.gpus import Gpu, Gpus

from tenuto.engines.supervisor import run
from tenuto.engines.supervisor.records import Records
from tenuto.gpus_here import DriverSilent
from tenuto.model.node import Slot


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpus:
    driver = Gpus(tmp_path / "드라이버")
    driver.in_this_process(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return driver


@contextmanager
def opened(directory: Path) -> Iterator[Records]:
    records = Records(directory)
    try:
        yield records
    finally:
        records.close()


def test_a_supervisor_that_is_started_again_under_a_silent_driver_has_the_slots_it_had(
    driver: Gpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.show(Gpu(name="Tęst GPU"), Gpu(uuid="GPU-1"))
    with opened(tmp_path / "supervisor") as records:
        records.remember(slots=run._slots_here(records))
    driver.behave(hangs=True)
    monkeypatch.setattr(run, "_HURRY", 0.1)

    with opened(tmp_path / "supervisor") as records:
        slots = run._slots_here(records)

    assert slots == (Slot(device="0", kind="Tęst GPU"), Slot(device="1", kind="Test GPU"))


def test_a_supervisor_that_never_had_any_says_so(
    driver: Gpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.behave(hangs=True)
    monkeypatch.setattr(run, "PATIENCE", 0.1)

    with opened(tmp_path / "supervisor") as records, pytest.raises(DriverSilent):
        run._slots_here(records)
