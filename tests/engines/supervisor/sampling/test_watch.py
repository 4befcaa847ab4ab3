"""A watch over a real process that is a sampler in name only: it tells what the story wants it to."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from tests.engines.real_nodes import until
from tests.engines.supervisor.sampling import puppet

from tenuto.engines.supervisor.sampling.process import LONGEST_LINE
from tenuto.engines.supervisor.sampling.shelf import Kept, Shelf
from tenuto.engines.supervisor.sampling.watch import SamplerWatch
from tenuto.wire.sample import Gap


class Scene:
    """A watch, its shelf, and the sampler's strings."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        os.mkfifo(directory / "pipe")
        self.shelf = Shelf()
        self.watch = SamplerWatch(self.shelf, (sys.executable, "-ISE", puppet.__file__, str(directory)))

    def starts(self) -> list[tuple[int, float]]:
        """The pid of each sampler, with its period, and once more for each change of that."""
        try:
            lines = (self.directory / "starts").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [(int(pid), float(every)) for pid, every in map(str.split, lines)]

    def sampler(self, number: int) -> int:
        """The pid of what was noted as number so and so."""
        until(lambda: len(self.starts()) >= number, f"there are {number} notes")
        return self.starts()[number - 1][0]

    def tell(self, line: str) -> None:
        """Have the sampler write this; waits until it reads."""
        (self.directory / "pipe").write_text(f"{line}\n")

    def sample(self, at: float, **more: object) -> None:
        self.tell(json.dumps({"at": at, **more}))

    def samples(self) -> Sequence[Kept]:
        batch = self.shelf.batch()
        return batch.samples if batch is not None else ()

    def until_samples(self, count: int) -> Sequence[Kept]:
        until(lambda: len(self.samples()) == count, f"there are {count} samples")
        return self.samples()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    one = Scene(tmp_path)
    yield one
    one.watch.end()
    assert not [pid for pid, _ in one.starts() if psutil.pid_exists(pid)]


def test_what_the_sampler_tells_is_put_on_the_shelf_as_it_is(scene: Scene) -> None:
    scene.watch.want(1.0)

    scene.tell('{"at": 100.5, "gpu_problem": "번역 없음", "cores": [1.5, null]}')
    scene.tell("no sample at all\n{}\n[1]")
    scene.sample(101.5)

    first, second = scene.until_samples(2)
    assert first == Kept(100.5, '{"at": 100.5, "gpu_problem": "번역 없음", "cores": [1.5, null]}'.encode())
    assert second.at == 101.5


def test_a_line_that_has_no_end_is_passed_over(scene: Scene) -> None:
    scene.watch.want(1.0)

    scene.tell("9" * (3 * LONGEST_LINE))
    scene.sample(101.5)

    assert [one.at for one in scene.until_samples(1)] == [101.5]


def test_the_period_can_be_changed_without_another_sampler(scene: Scene) -> None:
    scene.watch.want(1.0)
    pid = scene.sampler(1)

    scene.watch.want(0.5)

    scene.sampler(2)
    assert scene.starts() == [(pid, 1.0), (pid, 0.5)]


def test_a_sampler_that_is_killed_is_replaced_and_the_gap_is_on_the_shelf(scene: Scene) -> None:
    scene.watch.want(1.0)
    scene.sample(100.0)
    scene.until_samples(1)

    os.kill(scene.sampler(1), signal.SIGKILL)
    scene.sampler(2)
    scene.sample(103.0)

    gap = scene.until_samples(2)[1].gap
    assert gap == Gap(since=100.0, until=103.0, why="the sampler was killed by SIGKILL")


def test_a_sampler_that_breaks_says_with_which_code(scene: Scene) -> None:
    scene.watch.want(1.0)
    scene.sample(100.0)
    scene.until_samples(1)

    scene.tell("break")
    scene.sampler(2)
    scene.sample(101.0)

    gap = scene.until_samples(2)[1].gap
    assert gap is not None
    assert gap.why == "the sampler ended by itself with exit code 7"


def test_nobody_samples_when_nothing_is_wanted_any_more(scene: Scene) -> None:
    scene.watch.want(1.0)
    pid = scene.sampler(1)

    scene.watch.want(0.0)

    until(lambda: not psutil.pid_exists(pid), "the sampler has ended")


def test_a_sampler_that_is_stopped_ends_with_the_watch_all_the_same(scene: Scene) -> None:
    scene.watch.want(1.0)
    os.kill(scene.sampler(1), signal.SIGSTOP)

    scene.watch.end()

    assert not psutil.pid_exists(scene.sampler(1))


def test_a_program_that_is_not_there_harms_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watch = SamplerWatch(Shelf(), (str(tmp_path / "nobody"),))

    watch.want(1.0)
    until(lambda: "cannot be started" in caplog.text, "it is said that there is no sampler")
    watch.end()


def test_the_memory_of_gpus_is_told_by_the_newest_sample(scene: Scene) -> None:
    gpu = {"memory_used": 3, "memory_total": 4}
    assert scene.watch.memory_parts(["0"]) == (None,)
    scene.watch.want(1.0)

    scene.sample(100.0, gpus=[{"index": 0, **gpu}, {"index": 1, "memory_used": None, "memory_total": None}])
    scene.until_samples(1)

    assert scene.watch.memory_parts(["0", "1", "2", ""]) == (0.75, None, None, None)


def test_without_a_sampler_the_driver_is_asked_for_the_memory(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenuto.engines.supervisor.sampling.watch.nvml_parts", lambda _: (0.5,))

    scene.watch.want(0.0)

    assert scene.watch.memory_parts(["0"]) == (0.5,)
