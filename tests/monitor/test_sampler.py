"""The sampler's loop under a clock of the test's own, and the sampler as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import jsonschema_rs
import pytest
from tests.nvml.gpus import GIB, Gpu, Gpus, Process, some_gpus

from tenuto.monitor.gpus import GpuView
from tenuto.monitor.lines import decode
from tenuto.monitor.machine import MachineView, Memory
from tenuto.monitor.sampler import FIRST, Clock, Moments, Sampler, period_in
from tenuto.wire import env
from tenuto.wire.sample import NodeSample

HANG_GUARD = 60.0
SCHEMA = jsonschema_rs.validator_for(
    json.loads(Path(__file__).with_name("sample.schema.json").read_text(encoding="utf-8"))
)
NOTHING = MachineView(cpu=None, cores=(), load=None, memory=Memory(), disks=(), nets=())


class Time:
    """Goes by when somebody waits, and only then; whoever waits is told at certain moments of other periods."""

    def __init__(self, until: float, changes: dict[float, float] | None = None) -> None:
        self.now = 0.0
        self.set_by = 0.0
        self._until = until
        self._changes = dict(changes or {})
        self.clock = Clock(lambda: self.now, lambda: 1_700_000_000.0 + self.now + self.set_by)

    @property
    def ended(self) -> bool:
        return self.now >= self._until

    def wait(self, seconds: float) -> float | None:
        target = self.now + seconds
        due = [at for at in self._changes if at <= target]
        if not due:
            self.now = target
            return None
        self.now = max(min(due), self.now)
        return self._changes.pop(min(due))


def sampled(time: Time, period: float = 1.0, slow: dict[int, float] | None = None) -> list[float]:
    """When samples were begun; `slow` says which take how long."""
    moments: list[float] = []

    def machine(now: float) -> MachineView:
        return NOTHING

    def gpus(now: float) -> GpuView:
        moments.append(round(now, 6))
        time.now += (slow or {}).get(len(moments) - 1, 0.0)
        return GpuView()

    Sampler(machine, gpus, time.clock).run(period, time, lambda sample: None)
    return moments


def test_the_period_is_kept_without_any_job() -> None:
    moments = sampled(Time(until=10.0))

    assert moments == [FIRST + second for second in range(10)]


def test_twice_the_period_makes_half_the_samples() -> None:
    assert len(sampled(Time(until=10.0), period=2.0)) == 5


def test_samples_that_take_their_time_do_not_delay_those_after_them() -> None:
    assert sampled(Time(until=5.0), slow=dict.fromkeys(range(9), 0.3)) == [FIRST + one for one in range(5)]


def test_a_late_sample_is_left_out_and_not_made_up_for() -> None:
    assert sampled(Time(until=8.0), slow={1: 2.5}) == [FIRST + one for one in (0, 1, 4, 5, 6, 7)]


def test_a_new_period_is_kept_from_the_last_sample_on() -> None:
    changed = sampled(Time(until=6.0, changes={1.5: 0.5, 4.0: 2.0}))

    assert changed == [FIRST + one for one in (0, 1, 1.5, 2, 2.5, 3, 3.5, 5.5)]


def test_a_new_period_that_would_have_ended_already_begins_at_once() -> None:
    assert sampled(Time(until=6.0, changes={5.0: 0.5}), period=20.0) == [FIRST, 5.0, 5.5]


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "soon", ""])
def test_what_is_no_period_is_none(text: str) -> None:
    assert period_in(text) is None
    assert period_in(b"0.5\n") == 0.5


def test_moments_ascend_when_the_clock_is_set_back_and_catch_up_with_it() -> None:
    time = Time(until=0.0)
    moments = Moments(time.clock)
    told = []
    for second in range(20):
        time.now = float(second)
        time.set_by = 0.0 if second < 5 else -3.0
        told.append(moments.next() - 1_700_000_000.0)

    assert told[:7] == [0.0, 1.0, 2.0, 3.0, 4.0, 4.5, 5.0]
    assert all(later > earlier for earlier, later in pairwise(told))
    assert told[-1] == 19.0 - 3.0


def test_moments_ascend_even_if_no_time_goes_by() -> None:
    moments = Moments(Time(until=0.0).clock)

    assert moments.next() < moments.next() < moments.next()


@contextmanager
def a_sampler(*options: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "tenuto.monitor.sampler", *(options or ("--every", "0.05"))],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def next_sample(sampler: subprocess.Popen[bytes]) -> NodeSample:
    """The next one, which is as it should be."""
    assert sampler.stdout
    line = sampler.stdout.readline()
    assert line, sampler.stderr and sampler.stderr.read().decode()
    SCHEMA.validate(json.loads(line))
    return decode(line)


def first_with_a_driver(sampler: subprocess.Popen[bytes]) -> NodeSample:
    """The first sample for which the driver has answered: on a busy machine that may take some."""
    return next(one for one in iter(lambda: next_sample(sampler), None) if one.driver is not None)


def hardware() -> set[str]:
    """The interfaces of this machine; one without a network has none."""
    return {found.parent.name for found in Path("/sys/class/net").glob("*/device")}


def test_a_machine_without_gpus_has_everything_else() -> None:
    with a_sampler() as sampler:
        first, second = next_sample(sampler), next_sample(sampler)

    assert second.at > first.at
    assert first.cpu is not None
    assert len(first.cores) == os.cpu_count()
    assert first.ram_used and first.ram_total and first.load is not None
    assert {net.id for net in first.nets} >= hardware()
    assert all(net.received is not None for net in first.nets)
    assert first.disks and first.disks[0].total
    assert (first.gpus, first.gpu_problem, first.driver) == ((), None, None)


def test_gpus_change_from_sample_to_sample_and_their_processes_have_jobs(tmp_path: Path) -> None:
    gpus = Gpus(tmp_path / "드라이버")
    gpus.show(*some_gpus(4))
    with a_sampler(**gpus.environment, **{env.JOB_ID: "일-7", env.WORKER: "일-7.1.worker.0"}) as sampler:
        before = first_with_a_driver(sampler)
        gpus.change(3, utilisation=99, fan=None, processes=(Process(sampler.pid, GIB),))
        gpus.change(1, lost=True)
        sample = next(one for one in iter(lambda: next_sample(sampler), None) if one.gpus[1].lost)

    assert [gpu.utilisation for gpu in before.gpus] == [0, 10, 20, 30]
    assert [gpu.utilisation for gpu in sample.gpus] == [0, None, 20, 99]
    assert sample.gpus[3].fan is None
    assert sample.gpus[3].processes
    process = sample.gpus[3].processes[0]
    assert (process.memory, process.job, process.worker) == (GIB, "일-7", "일-7.1.worker.0")


def test_a_driver_that_does_not_start_is_told_in_a_sentence(tmp_path: Path) -> None:
    gpus = Gpus(tmp_path)
    gpus.behave(refuses_to_start=9)
    with a_sampler(**gpus.environment) as sampler:
        told = iter(lambda: next_sample(sampler), None)
        sample = next(one for one in told if "not answered for" not in (one.gpu_problem or ""))

    assert sample.gpus == ()
    assert sample.gpu_problem == "the driver of the GPUs does not answer: Driver Not Loaded"


def test_another_period_is_taken_while_it_runs() -> None:
    with a_sampler("--every", "3600") as sampler:
        next_sample(sampler)
        assert sampler.stdin
        sampler.stdin.write(b"nonsense\n0.01\n")
        sampler.stdin.flush()

        assert next_sample(sampler).at < next_sample(sampler).at


@pytest.mark.parametrize("hangs", [False, True], ids=["waiting", "in a driver that hangs"])
def test_it_ends_when_its_supervisor_is_gone(tmp_path: Path, hangs: bool) -> None:
    gpus = Gpus(tmp_path)
    gpus.show(Gpu())
    with a_sampler("--every", "0.3", **gpus.environment) as sampler:
        next_sample(sampler)
        gpus.behave(hangs=hangs)
        assert sampler.stdin
        sampler.send_signal(signal.SIGINT)  # meant for somebody else
        sampler.stdin.close()

        assert sampler.wait(HANG_GUARD) == 0


def test_it_ends_when_nobody_reads_any_more() -> None:
    with a_sampler() as sampler:
        next_sample(sampler)
        assert sampler.stdout
        sampler.stdout.close()

        assert sampler.wait(HANG_GUARD) == 0


@pytest.mark.parametrize("options", [("--every",), ("--every", "never"), ("1",)])
def test_a_wrong_call_says_what_is_right(options: tuple[str, ...]) -> None:
    with a_sampler(*options) as sampler:
        assert sampler.wait(HANG_GUARD) == 2
        assert sampler.stderr
        assert sampler.stderr.read() == b"usage: python -m tenuto.monitor.sampler --every SECONDS\n"
