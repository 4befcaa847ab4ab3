"""A worker may put anything into its own directory: its supervisor goes on, and so do the workers of other jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.engines.supervisor.node import Node, a_node, a_program
from tests.engines.supervisor.test_record_upload import Platform

from tenuto.model.event import Event
from tenuto.wire.worker import WorkerOrder

ATTACK = """
import os, pathlib, shutil, sys, time
link = pathlib.Path(os.environ["TENUTO_LINK"])
own, status, steps = link.parent, link / "status", link / "steps"
first = steps / ("0" * 20)

def write(path, data):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)

def record(seq):
    return b'{"seq": %d, "kind": "step", "at": 1.0, "generation": 1, "step": %d}\\n' % (seq, seq)

def put_in_place_of(path, make):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    make(path)

def huge(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)

def zeros(path):
    path.symlink_to("/dev/zero")
"""
DONE = """
pathlib.Path(sys.argv[1]).touch()
time.sleep(1000)
"""
HONEST = """
import json, os, pathlib
from tenuto.wire.spool import Spool
spool = Spool(pathlib.Path(os.environ["TENUTO_LINK"]) / "steps")
for seq in range(5):
    record = {"seq": seq, "kind": "step", "at": 1.0, "generation": 1, "step": seq}
    spool.write(json.dumps(record).encode() + b"\\n")
print("uczciwy", flush=True)
os._exit(3)
"""
NOT_REGULAR = {
    "pipe as status": "put_in_place_of(status, os.mkfifo)",
    "endless device as status": "put_in_place_of(status, zeros)",
    "directory as status": "put_in_place_of(status, os.mkdir)",
    "pipe as report": 'put_in_place_of(own / "report", os.mkfifo)',
    "pipe as records": "put_in_place_of(first, os.mkfifo)",
    "endless device as records": "put_in_place_of(first, zeros)",
    "directory as records": "put_in_place_of(first, os.mkdir)",
    "link in place of the directory of records": 'put_in_place_of(steps, lambda path: path.symlink_to("/etc"))',
    "file in place of the directory of records": "put_in_place_of(steps, pathlib.Path.touch)",
    "more files than any log has": """
for number in range(3_000):
    write(steps / f"{number:020d}", b"")
""",
    "pipe as note of the shim": 'put_in_place_of(own / "shim.json", os.mkfifo)',
    "pipe as reason to stop": 'put_in_place_of(own / "stop.json", os.mkfifo)',
    "pipe as exit record": 'put_in_place_of(own / "exit.json", os.mkfifo)',
    "deep nesting as exit record": 'write(own / "exit.json", b"[" * 100_000)',
}
"""Files that cannot be used at all: the server is told."""
NONSENSE = {
    "pipe as order, which is read by the next supervisor only": 'put_in_place_of(own / "order.json", os.mkfifo)',
    "deep nesting as a record": 'write(first, b"[" * 100_000 + b"\\n")',
    "deep nesting between records": 'write(first, record(0) + b\'{"seq": \' + b"[" * 100_000 + b"\\n" + record(1))',
    "digits that are no digits as a name": 'write(steps / "²", b"x")',
    "offset beyond every file": 'write(steps / ("9" * 20), record(0))',
    "huge file as records": "put_in_place_of(first, huge)",
    "huge file as status": "put_in_place_of(status, huge)",
    "half a page as status": 'write(status, bytes.fromhex("70407e0000000000") + bytes(8))',
    "a line without end": 'write(first, b"x" * (9 << 20))',
    "numbers that are none": 'write(first, b\'{"seq": 1e400}\\n{"seq": -1}\\n{"seq": %s}\\n\' % (b"9" * 400))',
    "links in the log": """
for part in (own / "log").iterdir():
    put_in_place_of(part, zeros)
(own / "log" / "²").touch()
""",
    "pipe in the way of a membership": 'put_in_place_of(link / f".membership.json.{os.getppid()}.part", os.mkfifo)',
    "directory in the way of the exit record": 'put_in_place_of(own / f".exit.json.{os.getppid()}.part", os.mkdir)',
    "pipe as what the supervisor tells": """
(own / "news").mkdir()
put_in_place_of(own / "news" / ("0" * 20), os.mkfifo)
""",
    "its own directory is gone": "shutil.rmtree(own)",
    "its own directory is a file": "put_in_place_of(own, pathlib.Path.touch)",
}
"""Content that is left out or passed over."""


@pytest.fixture(scope="module")
def shared_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Platform, Node]]:
    home = tmp_path_factory.mktemp("wrogi")
    with a_node(home, desk=Platform(home), by_file=True) as (desk, node):
        assert isinstance(desk, Platform)
        yield desk, node


@pytest.fixture
def desk(shared_platform: tuple[Platform, Node]) -> Iterator[Platform]:
    """A server whose node other tests use as well; each test shows that all of its workers can be ended."""
    desk, node = shared_platform
    supervisor = node.pid
    yield desk
    desk.want()
    desk.until(lambda: not desk.engine.observe().workers)
    desk.until(lambda: node.pids() == {supervisor})
    assert node.process is not None
    assert node.process.poll() is None


@pytest.mark.parametrize("attack", NOT_REGULAR.values(), ids=NOT_REGULAR)
def test_a_file_that_cannot_be_used_is_told_and_stops_no_other_worker(
    desk: Platform, tmp_path: Path, attack: str
) -> None:
    hostile, honest = _after(desk, tmp_path, attack)

    _is_served(desk, honest)
    desk.until(lambda: _problems(desk, hostile))
    assert not _problems(desk, honest)


@pytest.mark.parametrize("attack", NONSENSE.values(), ids=NONSENSE)
def test_content_that_is_nonsense_stops_no_other_worker(desk: Platform, tmp_path: Path, attack: str) -> None:
    _, honest = _after(desk, tmp_path, attack)

    _is_served(desk, honest)


def test_a_supervisor_that_is_killed_takes_over_whatever_workers_left(tmp_path: Path) -> None:
    with a_node(tmp_path, desk=Platform(tmp_path)) as (desk, node):
        assert isinstance(desk, Platform)
        chosen = [
            name for name in NOT_REGULAR if name.endswith(("order", "shim", "stop", "status", "exit record"))
        ]
        hostile = [_attacker(desk, tmp_path, NOT_REGULAR[name], slot=None) for name in chosen]
        desk.want(*hostile)
        for order in hostile:
            desk.until(_mark(tmp_path, order).exists)
        node.kill()

        node.come_back()
        honest = _honest(desk)
        desk.want(*hostile, honest)

        _is_served(desk, honest)


def _problems(desk: Platform, order: WorkerOrder) -> list[Event]:
    return [event for event in desk.events("problem") if event.job == order.id.job]


def _attacker(desk: Platform, directory: Path, attack: str, *, slot: int | None = 0) -> WorkerOrder:
    """A worker that attacks at once."""
    order = a_program(ATTACK + attack + DONE, slot=slot, linked=True, grace=0.0)
    desk.add_job(order.id.job)
    return replace(order, argv=(*order.argv, str(_mark(directory, order))))


def _mark(directory: Path, order: WorkerOrder) -> Path:
    """The file that an attacker makes when it is done."""
    return directory / f"{order.id}.done"


def _after(desk: Platform, directory: Path, attack: str) -> tuple[WorkerOrder, WorkerOrder]:
    """A worker that has attacked by now, and an honest one that is started after it."""
    hostile = _attacker(desk, directory, attack)
    desk.want(hostile)
    desk.until(_mark(directory, hostile).exists)
    honest = _honest(desk)
    desk.want(hostile, honest)
    return hostile, honest


def _honest(desk: Platform) -> WorkerOrder:
    order = a_program(HONEST, slot=1, linked=True)
    desk.add_job(order.id.job)
    return order


def _is_served(desk: Platform, order: WorkerOrder) -> None:
    """Started, ended, its log and its records with the server."""
    assert desk.until_exited(order).exit_code == 3
    desk.until_logged(order, "exit with code 3")
    desk.until(lambda: desk.seqs(order) == [0, 1, 2, 3, 4])
