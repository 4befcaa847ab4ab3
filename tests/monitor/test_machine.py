"""Processors, memory, disks and network, in the kernel's words and in ours."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from tenuto.monitor.machine import Machine, Memory, load_in, memory_in
from tenuto.monitor.proc import Places
from tenuto.monitor.rates import Rates
from tenuto.wire.sample import DiskSample, NetSample

NET_HEADER = "Inter-| Receive | Transmit\n face |bytes packets | bytes packets\n"


class Kernel:
    """What a kernel would tell, in files of a test's own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.places = Places(str(directory / "proc"), str(directory / "sys"))

    def tells(self, path: str, text: str) -> None:
        file = self._directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def processors(self, *lines: str) -> None:
        self.tells("proc/stat", "\n".join([*lines, "intr 123456 0 0", "ctxt 99"]))

    def network(self, **flows: tuple[int, int]) -> None:
        lines = [
            f"{name:>6}: {got} 1 0 0 0 0 0 0 {sent} 1 0 0 0 0 0 0\n" for name, (got, sent) in flows.items()
        ]
        self.tells("proc/net/dev", NET_HEADER + "".join(lines))

    def interface(self, name: str, *, hardware: bool = False, **facts: object) -> None:
        for fact, value in {"flags": "0x1003", "iflink": 2, "ifindex": 2, **facts}.items():
            self.tells(f"sys/class/net/{name}/{fact}", f"{value}\n")
        if hardware:
            self.tells(f"sys/class/net/{name}/device/vendor", "0x15b3\n")


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    return Kernel(tmp_path)


def test_processors_are_told_as_shares_of_the_time_between_two_looks(kernel: Kernel) -> None:
    machine = Machine(kernel.places)
    kernel.processors(
        "cpu  100 0 0 100 0 0 0 0 0 0", "cpu0 50 0 0 50 0 0 0 0 0 0", "cpu2 50 0 0 50 0 0 0 0 0 0"
    )
    first = machine.look(1.0)
    # cpu1 is offline; waiting for disks is idling; guests' time is in the user's already
    kernel.processors(
        "cpu  140 10 20 250 80 0 0 0 40 0", "cpu0 90 10 0 100 0 0 0 0 40 0", "cpu2 50 0 20 150 80 0 0 0 0 0"
    )

    second = machine.look(2.0)

    assert (first.cpu, first.cores) == (None, (None, None, None))
    assert (second.cpu, second.cores) == (23.3, (50.0, None, 10.0))


def test_counts_that_went_back_never_make_a_share_that_cannot_be(kernel: Kernel) -> None:
    machine = Machine(kernel.places)
    kernel.processors("cpu  100 0 0 100 50 0 0 0 0 0")
    machine.look(1.0)
    kernel.processors("cpu  120 0 0 110 35 0 0 0 0 0")

    assert machine.look(2.0).cpu == 100.0
    assert machine.look(3.0).cpu is None  # no time has gone by


def test_memory_that_programs_could_have_at_once_is_not_in_use() -> None:
    told = (
        b"MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n"
        b"HugePages_Total: 0\n"
    )

    assert memory_in(told) == Memory(
        ram_used=400 * 1024, ram_total=1000 * 1024, swap_used=30 * 1024, swap_total=50 * 1024
    )


def test_a_kernel_that_tells_nothing_leaves_everything_unknown(kernel: Kernel) -> None:
    view = Machine(kernel.places).look(1.0)

    assert (view.cpu, view.cores, view.load, view.memory) == (None, (), None, Memory())
    assert (view.disks, view.nets) == ((), ())
    assert load_in(b"0.31 0.20 0.10 1/110 2306\n") == 0.31


def test_interfaces_are_told_with_flows_and_what_they_can_do(kernel: Kernel) -> None:
    kernel.interface("eth0", hardware=True, speed=25000)
    kernel.interface("wlan0", hardware=True, speed=-1, flags="0x1002")
    machine = Machine(kernel.places)
    kernel.network(lo=(5, 5), eth0=(1000, 500), wlan0=(7, 7))
    first = machine.look(10.0)
    kernel.network(lo=(9, 9), eth0=(3000, 600), wlan0=(3, 7))

    second = machine.look(12.0)

    assert first.nets[0] == NetSample(id="eth0", bandwidth=25e9)
    assert second.nets == (
        NetSample(id="eth0", bandwidth=25e9, received=1000.0, sent=50.0),
        NetSample(id="wlan0", received=None, sent=0.0),  # began anew: its count went back
    )


def test_ends_of_pairs_that_lead_into_containers_are_left_out_where_there_is_hardware(kernel: Kernel) -> None:
    kernel.interface("eth0", hardware=True)
    kernel.interface("docker0")
    kernel.interface("down0", flags="0x1002")
    kernel.interface("veth1a2b", ifindex=7, iflink=6)
    kernel.interface("vlan7", ifindex=9, iflink=2, lower_eth0="")
    kernel.network(lo=(0, 0), eth0=(0, 0), docker0=(0, 0), down0=(0, 0), veth1a2b=(0, 0), vlan7=(0, 0))

    assert [net.id for net in Machine(kernel.places).look(1.0).nets] == ["docker0", "eth0", "vlan7"]


def test_inside_a_container_the_end_of_a_pair_is_the_network(kernel: Kernel) -> None:
    kernel.interface("eth0", ifindex=7, iflink=8)
    kernel.network(lo=(0, 0), eth0=(0, 0))

    assert [net.id for net in Machine(kernel.places).look(1.0).nets] == ["eth0"]


def test_an_interface_that_appears_is_told_from_then_on(kernel: Kernel) -> None:
    kernel.interface("eth0", hardware=True)
    kernel.interface("ib0", hardware=True)
    machine = Machine(kernel.places)
    kernel.network(eth0=(0, 0))
    machine.look(1.0)

    kernel.network(eth0=(0, 0), ib0=(0, 0))

    assert [net.id for net in machine.look(2.0).nets] == ["eth0", "ib0"]


def test_each_disk_is_told_once_with_its_flows_and_nothing_of_the_network_is_asked(
    kernel: Kernel, tmp_path: Path
) -> None:
    data, file = tmp_path / "데이터 1", tmp_path / "hosts"
    data.mkdir()
    file.touch()
    written = str(data).replace(" ", "\\040")
    kernel.tells(
        "proc/self/mountinfo",
        f"27 1 0:30 / / rw - overlay overlay rw\n"
        f"28 1 259:3 / {written} rw - xfs /dev/none1 rw\n"
        f"29 1 259:3 / {written}/inner rw - xfs /dev/none1 rw\n"
        f"30 1 259:4 / {file} rw - ext4 /dev/none2 rw\n"
        f"31 1 0:50 / {tmp_path} rw - nfs4 server:/home rw\n"
        f"32 1 7:1 / {tmp_path} ro - squashfs /dev/loop1 ro\n",
    )
    kernel.tells(
        "proc/diskstats", " 259 3 none1 1 0 100 0 1 0 1000 0 0 0 0\n 259 4 none2 1 0 9 0 1 0 9 0 0 0 0\n"
    )
    machine = Machine(kernel.places)
    machine.look(10.0)
    kernel.tells("proc/diskstats", " 259 3 none1 1 0 120 0 1 0 1200 0 0 0 0\n")

    root, disk = machine.look(12.0).disks

    found = os.statvfs(data)
    assert (root.path, root.read, root.total) == (
        "/",
        None,
        os.statvfs("/").f_blocks * os.statvfs("/").f_frsize,
    )
    assert (disk.path, disk.read, disk.written) == (str(data), 10 * 512.0, 100 * 512.0)
    assert disk.total == found.f_blocks * found.f_frsize


def test_a_disk_that_was_unmounted_a_moment_ago_is_unknown(kernel: Kernel, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    kernel.tells("proc/self/mountinfo", f"28 1 259:3 / {data} rw - xfs /dev/none1 rw\n")
    machine = Machine(kernel.places)
    assert machine.look(1.0).disks[0].total
    data.rmdir()

    assert machine.look(2.0).disks == (DiskSample(path=str(data)),)


def test_rates_of_what_was_not_there_before_are_unknown() -> None:
    rates = Rates()
    rates.since_last(1.0, {"a": (100, 10)})

    assert rates.since_last(3.0, {"a": (300, 10), "b": (5, 5)}) == {"a": (100.0, 0.0), "b": (None, None)}
    assert rates.since_last(4.0, {"a": (200, 20)}) == {"a": (None, 10.0)}
    assert rates.since_last(4.0, {"a": (200, 20)}) == {"a": (None, None)}


def test_this_machine_is_told_of_as_psutil_does() -> None:
    machine = Machine()
    machine.look(time.monotonic() - 1.0)  # a second ago, for all it knows

    view = machine.look(time.monotonic())

    memory = psutil.virtual_memory()
    assert view.memory.ram_total == memory.total
    assert view.memory.ram_used == pytest.approx(memory.used, abs=memory.total / 10)
    assert len(view.cores) == psutil.cpu_count()
    assert view.load is not None
    assert "/" in [disk.path for disk in view.disks]
    assert {net.id for net in view.nets} <= psutil.net_io_counters(pernic=True).keys() - {"lo"}
