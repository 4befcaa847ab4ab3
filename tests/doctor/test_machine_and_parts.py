"""The machine and its parts: limits that will hurt, and optional parts that are only listed."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.nvml.gpus import Gpu, Gpus

from tenuto.doctor import parts
from tenuto.doctor.examine import examine
from tenuto.doctor.finding import Finding, Status, is_well, size, worst_first
from tenuto.doctor.machine import find_machine
from tenuto.doctor.parts import PACKAGES, PROGRAMS, Part, find_parts


def named(findings: list[Finding], name: str) -> Finding:
    return next(one for one in findings if one.name == name)


def test_this_machine_is_well() -> None:
    assert is_well(examine([]))


@pytest.mark.parametrize(
    ("files", "status"), [(100, Status.PROBLEM), (512, Status.WARNING), (4096, Status.OK)]
)
def test_few_open_files_are_told_with_the_command_that_allows_more(
    monkeypatch: pytest.MonkeyPatch, files: int, status: Status
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, 8192))

    found = named(list(find_machine()), "open files")

    assert (found.status, found.value) == (status, files)
    assert found.remedy == ("" if status is Status.OK else "ulimit -n 8192")


def test_a_machine_that_does_not_know_its_own_name_is_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "nowhere.invalid")

    found = named(list(find_machine()), "host name")

    assert found.status is Status.WARNING
    assert "/etc/hosts" in found.remedy


def test_a_part_that_is_missing_is_listed_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here, gone = Part("numpy", "numbers", "get it"), Part("no_such_package", "tests", "pip install it")
    monkeypatch.setattr(parts, "PACKAGES", (here, gone))
    monkeypatch.setattr(parts, "PROGRAMS", (Part("no-such-program", "tests", "apt-get install it"),))

    found = {one.name: one for one in find_parts()}

    assert found["numpy"].status is Status.OK
    assert (found["no_such_package"].status, found["no_such_package"].remedy) == (
        Status.MISSING,
        "pip install it",
    )
    assert found["no-such-program"].remedy == "apt-get install it"
    assert is_well(found.values())


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Gpus:
    driver = Gpus(tmp_path)
    driver.in_this_process(monkeypatch)
    return driver


def test_gpus_are_told_with_their_memory_and_one_that_is_lost_is_a_warning(driver: Gpus) -> None:
    driver.show(Gpu(), Gpu(uuid="GPU-1"), Gpu(uuid="GPU-2"))
    well = named(list(find_parts()), "NVIDIA driver")
    driver.change(1, lost=True)

    found = named(list(find_parts()), "NVIDIA driver")

    assert (well.status, well.value) == (Status.OK, 3)
    assert (found.status, found.value, found.remedy) == (Status.WARNING, 2, "See nvidia-smi")
    assert (
        found.told == "580.95.05; Test GPU 16.0 GiB, GPU 1 does not answer (GPU is lost), Test GPU 16.0 GiB"
    )


def test_a_driver_that_does_not_start_is_a_warning_and_not_missing(driver: Gpus) -> None:
    driver.behave(refuses_to_start=9)

    found = named(list(find_parts()), "NVIDIA driver")

    assert (found.status, found.told) == (Status.WARNING, "is here, but does not answer (Driver Not Loaded)")


def test_a_driver_that_crashes_takes_nobody_along(driver: Gpus) -> None:
    driver.behave(crashes=True)

    found = named(list(find_parts()), "NVIDIA driver")

    assert found.status is Status.WARNING
    assert "has brought down the process that asked it" in found.told


def test_every_part_can_be_got() -> None:
    assert all(part.get and part.purpose for part in (*PACKAGES, *PROGRAMS))


def test_looking_at_the_parts_imports_none_of_them() -> None:
    program = (
        "import sys\n"
        "from tenuto.doctor.parts import PACKAGES, find_parts\n"
        "list(find_parts())\n"
        "print([part.name for part in PACKAGES if part.name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_problems_come_first_and_the_rest_keeps_its_order() -> None:
    findings = [
        Finding(topic="", name=name, status=status, told="")
        for name, status in (
            ("a", Status.WARNING),
            ("b", Status.OK),
            ("c", Status.PROBLEM),
            ("d", Status.MISSING),
        )
    ]

    assert [one.name for one in worst_first(findings)] == ["c", "a", "b", "d"]


@pytest.mark.parametrize(
    ("count", "told"), [(0, "0 bytes"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (5 << 40, "5.0 TiB")]
)
def test_sizes_are_told_in_words(count: int, told: str) -> None:
    assert size(count) == told
