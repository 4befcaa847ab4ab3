"""A checkpoint is whole or not there, whoever is killed and however full the disk is."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sdk.disk import room_for

from tenuto.sdk.checkpoints import Checkpoints, Damaged, fault_of, size_of, step_of


def write(checkpoints: Checkpoints, step: int, content: str = "weights") -> Path:
    def fill(directory: Path) -> None:
        (directory / "größe.bin").write_bytes(content.encode() * 100)
        (directory / "part").mkdir()
        (directory / "part" / "facts.json").write_text(f'{{"step": {step}}}', encoding="utf-8")

    return checkpoints.write(step, fill)


@pytest.fixture
def checkpoints(tmp_path: Path) -> Checkpoints:
    return Checkpoints(tmp_path / "größe", keep=3)


def names(checkpoints: Checkpoints) -> list[str]:
    return sorted(path.name for path in checkpoints.directory.iterdir())


def test_what_was_written_is_the_newest(checkpoints: Checkpoints) -> None:
    assert checkpoints.newest() is None
    write(checkpoints, 10)
    path = write(checkpoints, 20)

    assert checkpoints.newest() == path
    assert step_of(path) == 20
    assert (path / "größe.bin").read_bytes() == b"weights" * 100
    assert size_of(path) > 700
    assert checkpoints.damaged == ()


def test_only_so_many_are_kept(checkpoints: Checkpoints) -> None:
    for step in range(0, 70, 10):
        write(checkpoints, step)

    assert names(checkpoints) == ["step-000000000040", "step-000000000050", "step-000000000060"]


def test_the_same_step_again_changes_nothing(checkpoints: Checkpoints) -> None:
    write(checkpoints, 10, "first")
    path = write(checkpoints, 10, "second")

    assert (path / "größe.bin").read_bytes() == b"first" * 100
    assert names(checkpoints) == ["step-000000000010"]


def test_a_damaged_one_is_replaced_by_the_same_step(checkpoints: Checkpoints) -> None:
    (write(checkpoints, 10, "first") / "größe.bin").write_bytes(b"")
    path = write(checkpoints, 10, "second")

    assert checkpoints.newest() == path
    assert (path / "größe.bin").read_bytes() == b"second" * 100


def test_a_damaged_one_of_a_later_step_takes_no_place(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, keep=1)
    write(checkpoints, 10)
    flip_a_bit(write(checkpoints, 20))

    path = write(checkpoints, 15)  # a run that went on from 10

    assert checkpoints.newest() == path


def flip_a_bit(path: Path) -> None:
    content = bytearray((path / "größe.bin").read_bytes())
    content[37] ^= 1
    (path / "größe.bin").write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "größe.bin has changed since it was written": flip_a_bit,
    "größe.bin has 3 bytes, not 700": lambda path: (path / "größe.bin").write_bytes(b"abc"),
    "größe.bin is missing": lambda path: (path / "größe.bin").unlink(),
    "manifest.json is missing": lambda path: (path / "manifest.json").unlink(),
    "manifest.json cannot be understood": lambda path: (path / "manifest.json").write_text(
        "[]", encoding="utf-8"
    ),
}


@pytest.mark.parametrize("reason", DAMAGES)
def test_a_damaged_one_is_skipped_and_named(checkpoints: Checkpoints, reason: str) -> None:
    whole, damaged = write(checkpoints, 10), write(checkpoints, 20)
    DAMAGES[reason](damaged)

    assert checkpoints.newest() == whole
    assert checkpoints.damaged == (Damaged(damaged, reason),)


def test_if_all_are_damaged_there_is_none(checkpoints: Checkpoints) -> None:
    for step in (10, 20):
        flip_a_bit(write(checkpoints, step))

    assert checkpoints.newest() is None
    assert [step_of(damaged.path) for damaged in checkpoints.damaged] == [20, 10]


def test_other_peoples_files_are_left_alone(checkpoints: Checkpoints) -> None:
    checkpoints.directory.mkdir()
    (checkpoints.directory / "step-notes").write_text("mine", encoding="utf-8")
    for step in range(5):
        write(checkpoints, step)

    assert "step-notes" in names(checkpoints)
    assert checkpoints.newest() is not None


def test_a_full_disk_leaves_the_older_one_and_no_rest(checkpoints: Checkpoints) -> None:
    older = write(checkpoints, 10)

    with room_for(300), pytest.raises(OSError, match="too large"):
        write(checkpoints, 20)

    assert checkpoints.newest() == older
    assert names(checkpoints) == ["step-000000000010"]


def test_a_writer_that_fails_leaves_nothing(checkpoints: Checkpoints) -> None:
    def fail(directory: Path) -> None:
        (directory / "half").write_bytes(b"x")
        raise RuntimeError("CUDA error")

    with pytest.raises(RuntimeError, match="CUDA"):
        checkpoints.write(10, fail)

    assert names(checkpoints) == []


def test_what_a_killed_writer_left_is_tidied_but_not_what_a_living_one_writes(
    checkpoints: Checkpoints,
) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    checkpoints.directory.mkdir()
    node = os.uname().nodename
    for name in (
        f".writing-{node}-{dead.pid}-1",
        f".writing-{node}-{os.getpid()}-2",
        ".writing-elsewhere-1-3",
        ".gone-4",
    ):
        (checkpoints.directory / name).mkdir()

    write(checkpoints, 10)

    assert names(checkpoints) == [
        ".writing-elsewhere-1-3",
        f".writing-{node}-{os.getpid()}-2",
        "step-000000000010",
    ]


def test_at_least_one_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Checkpoints(tmp_path, keep=0)


WRITER = """
import sys
from pathlib import Path
from tenuto.sdk.checkpoints import Checkpoints
checkpoints = Checkpoints(sys.argv[1], keep=2)
newest = checkpoints.newest()
step = int(newest.name[5:]) if newest else 0
def fill(directory):
    for part in range(5):
        (directory / f"{part}.bin").write_bytes(step.to_bytes(8, "little") * 20_000)
while True:
    step += 1
    checkpoints.write(step, fill)
    print(step, flush=True)
"""


def test_sigkill_at_any_moment_leaves_the_newest_whole_one(tmp_path: Path) -> None:
    chance = random.Random(5)
    told = 0
    for _ in range(8):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            for _ in range(chance.randint(1, 4)):
                told = int(process.stdout.readline())
            for _ in range(chance.randint(0, 200_000)):  # somewhere in the next one
                os.getppid()
        finally:
            process.kill()
            told = max([told, *map(int, process.communicate()[0].split())])

        newest = Checkpoints(tmp_path).newest()

        assert newest is not None
        assert step_of(newest) in (told, told + 1)  # what was told is there
        assert fault_of(newest) is None
        step = step_of(newest).to_bytes(8, "little")
        assert all((newest / f"{part}.bin").read_bytes() == step * 20_000 for part in range(5))
    assert len(list(tmp_path.glob("step-*"))) <= 3
