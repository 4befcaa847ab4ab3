"""What a supervisor tells a worker arrives as a whole, whoever is killed while writing it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tenuto.wire import membership
from tenuto.wire.membership import Member, Membership

JOB = "größer-é"


def member(rank: int) -> Member:
    return Member(worker=f"{JOB}.1.worker.{rank}", node="Knoten-é", host="127.0.0.1", port=4000 + rank)


def generation(number: int, *ranks: int) -> Membership:
    return Membership(
        job=JOB, generation=number, members=tuple(map(member, ranks)), why="grow", lost=(f"{JOB}.1.worker.9",)
    )


def test_what_was_written_is_read_again_in_any_script(tmp_path: Path) -> None:
    told = generation(7, 2, 0)

    membership.write(tmp_path, told)

    assert membership.read(tmp_path) == told


def test_before_the_first_membership_there_is_none(tmp_path: Path) -> None:
    assert membership.read(tmp_path) is None


def test_a_rank_is_the_place_in_the_list() -> None:
    told = generation(7, 2, 0)

    assert [told.rank_of(f"{JOB}.1.worker.{born}") for born in (2, 0, 1)] == [0, 1, None]


def test_memberships_of_one_number_but_other_workers_do_not_meet() -> None:
    assert generation(7, 0, 1).name != generation(7, 0, 2).name
    assert generation(7, 0, 1).name != generation(7, 1, 0).name
    assert generation(7, 0, 1).name == generation(7, 0, 1).name


def test_the_name_is_the_same_in_every_process() -> None:
    told = generation(7, 0, 1)
    program = (
        "import sys; from tenuto.wire.membership import *\n"
        "members = tuple(Member(worker=w, node='', host='', port=0) for w in sys.argv[1:])\n"
        "sys.stdout.write(Membership(job='', generation=7, members=members).name)"
    )

    found = subprocess.run(
        [sys.executable, "-c", program, *told.workers], capture_output=True, text=True, check=True
    )

    assert found.stdout == told.name


WRITER = """
import sys
from tenuto.wire import membership
from tenuto.wire.membership import Member, Membership
members = tuple(Member(worker=f"größer-é.1.worker.{r}", node="n" * 500, host="h", port=r) for r in range(20))
for number in range(1, 1_000_000):
    membership.write(sys.argv[1], Membership(job="größer-é", generation=number, members=members))
    if number == 20:
        print("begun", flush=True)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_a_killed_writer_leaves_a_whole_membership(tmp_path: Path, attempt: int) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        newest = 0
        for _ in range(200 * attempt + 50):
            seen = membership.read(tmp_path)
            assert seen is not None
            assert seen.generation >= newest  # it only ever grows newer
            newest = seen.generation
    finally:
        writer.kill()
        writer.communicate()

    left = membership.read(tmp_path)

    assert left is not None
    assert left.generation >= newest
    assert len(left.members) == 20
