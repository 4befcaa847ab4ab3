"""What a machine has to offer."""

from __future__ import annotations

import os
import socket
from types import SimpleNamespace

import pynvml
import pytest

from tenuto.engines.inventory import FreePorts, find_slots, own_address
from tenuto.errors import InputInvalid
from tenuto.model.node import Slot


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answer in {
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": lambda index: SimpleNamespace(index=index),
        "nvmlDeviceGetName": lambda handle: f"Test GPU {handle.index}",
    }.items():
        monkeypatch.setattr(pynvml, name, answer)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", missing)


@pytest.mark.usefixtures("two_gpus")
def test_the_slots_of_a_machine_are_its_gpus() -> None:
    assert find_slots() == (Slot(device="0", kind="Test GPU 0"), Slot(device="1", kind="Test GPU 1"))


@pytest.mark.usefixtures("two_gpus")
def test_gpus_that_are_kept_from_us_are_no_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")

    assert find_slots() == (Slot(device="1", kind="Test GPU 1"),)


@pytest.mark.usefixtures("no_gpu")
def test_a_machine_without_gpus_offers_its_cores() -> None:
    assert find_slots() == (Slot(),) * len(os.sched_getaffinity(0))


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
