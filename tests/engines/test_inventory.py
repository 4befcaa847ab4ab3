"""What a machine has to offer."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from tests.nvml.gpus import Gpu, Gpus

from tenuto import nvml
from tenuto.engines.inventory import FreePorts, find_slots, own_address
from tenuto.errors import InputInvalid
from tenuto.gpus_here import DriverSilent
from tenuto.model.node import Slot


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpus:
    driver = Gpus(tmp_path)
    driver.in_this_process(monkeypatch)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return driver


@pytest.fixture
def two_gpus(driver: Gpus) -> Gpus:
    driver.show(*(Gpu(name=f"Test GPU {index}", uuid=f"GPU-{index}") for index in range(2)))
    return driver


CORES = (Slot(),) * len(os.sched_getaffinity(0))


@pytest.mark.usefixtures("two_gpus")
def test_the_slots_of_a_machine_are_its_gpus() -> None:
    assert find_slots() == (Slot(device="0", kind="Test GPU 0"), Slot(device="1", kind="Test GPU 1"))


@pytest.mark.usefixtures("two_gpus")
def test_gpus_that_are_kept_from_us_are_no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")

    assert find_slots() == (Slot(device="1", kind="Test GPU 1"),)


def test_a_gpu_that_is_lost_is_no_slot_and_hides_no_others(two_gpus: Gpus) -> None:
    two_gpus.change(0, lost=True)

    assert find_slots() == (Slot(device="1", kind="Test GPU 1"),)


def test_a_machine_without_gpus_offers_its_cores(driver: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_slots() == CORES
    driver.show(Gpu())
    driver.behave(refuses_to_start=9)
    assert find_slots() == CORES
    monkeypatch.setattr(nvml, "is_here", lambda: False)
    assert find_slots() == CORES


def test_a_driver_that_hangs_or_crashes_takes_nobody_along(two_gpus: Gpus) -> None:
    two_gpus.behave(hangs=True)
    with pytest.raises(DriverSilent, match=r"the driver of the GPUs has not answered within 0.5 s"):
        find_slots(patience=0.5)
    two_gpus.behave(hangs=False, crashes=True)
    with pytest.raises(DriverSilent, match="has brought down the process that asked it") as caught:
        find_slots()
    assert caught.value.remedy == "See nvidia-smi; with --slots the node offers CPU slots"
    assert find_slots(2) == (Slot(),) * 2


@pytest.mark.usefixtures("two_gpus")
def test_a_number_of_slots_means_so_many_cpu_shares() -> None:
    assert find_slots(3) == (Slot(),) * 3


@pytest.mark.parametrize("count", [0, -1, 10**6])
def test_a_node_has_a_sensible_number_of_slots(count: int) -> None:
    with pytest.raises(InputInvalid, match=f"cannot have {count} slots"):
        find_slots(count)


def test_ports_stay_the_same_until_they_are_used() -> None:
    ports = FreePorts(4)
    first = ports.offer(())

    given = ports.offer({first[1]})
    with socket.create_server(("", first[2])):
        taken = ports.offer({first[1]})

    assert len(set(first)) == 4
    assert set(first) - set(given) == {first[1]}
    assert first[2] not in taken
    assert {first[0], first[3]} <= set(taken)
    assert len(taken) == 4


def test_a_machine_reaches_a_server_of_its_own_by_loopback() -> None:
    assert own_address("http://127.0.0.1:8080") == "127.0.0.1"
    assert own_address("http://nie.ma.takiego.invalid") == "127.0.0.1"
