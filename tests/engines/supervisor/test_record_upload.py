"""Records reach the server once and in order, whichever side is away or killed; a real supervisor brings them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from tests.engines.supervisor.node import TOKEN, Desk, Node, a_node, a_program, an_order, some_settings
from tests.forecast.records import a_spec

from tenuto.engines.node_api import node_router
from tenuto.engines.supervisor.news import News
from tenuto.engines.supervisor.record_upload import RecordUpload
from tenuto.engines.supervisor.server import Away, Refused
from tenuto.errors import Conflict, InputInvalid, NotFound, TenutoError
from tenuto.model.event import Event
from tenuto.model.job import Job, Progress
from tenuto.server.app import create_app
from tenuto.server.assignments import Assignments
from tenuto.server.auth import JOIN, Gate, digest_of
from tenuto.server.node_credentials import NodeCredentials
from tenuto.server.platform import Files
from tenuto.store.base import EventQuery, Token
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore, Stream
from tenuto.wire.spool import Spool
from tenuto.wire.untrusted_files import UntrustedDirectory
from tenuto.wire.worker import WORKER, WorkerId, WorkerOrder

WORKER_1 = WorkerId("job", 1, WORKER, 0)


class Keeper:
    """The server's side of records over the real store of them; it may be away."""

    def __init__(self, directory: Path) -> None:
        self.steps = StepStore(directory, keep_bytes=1 << 20)
        self.away = False
        self.requests = 0
        self.refuses: Callable[[dict[str, Any]], TenutoError | None] = lambda _: None

    def post_records(
        self, worker: WorkerId, teller: str, first: int, lines: tuple[bytes, ...], *, skip: bool
    ) -> int:
        self.requests += 1
        if self.away:
            raise Away("nobody is there")
        stream = Stream(worker, teller)
        records = [json.loads(line) for line in lines]
        assert [record["seq"] for record in records] == list(range(first, first + len(records)))
        for record in records:
            if (error := self.refuses(record)) is not None:
                raise Refused(Conflict(str(error), code=error.code, remedy=""), error.http_status)
        try:
            self.steps.append(stream, records, skip=skip)
        except Conflict as gap:
            raise Refused(gap, 409) from None
        return self.steps.wanted(stream)

    def seqs(self, teller: str = "worker") -> list[int]:
        return [record["seq"] for record in self.steps.read(Stream(WORKER_1, teller))]


class Site:
    """A worker's spool and its upload, which can be begun anew."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "steps"
        self.keeper = Keeper(directory / "kept")
        self.spool = Spool(self.directory, part=2000)
        self.told = 0
        self.restart()

    def restart(self) -> None:
        """As a supervisor that was killed and started again."""
        self.upload = RecordUpload(WORKER_1, "worker", UntrustedDirectory(self.directory))

    def tell(self, count: int, **fields: Any) -> None:
        for _ in range(count):
            record = {
                "seq": self.told,
                "kind": "step",
                "at": 0.0,
                "generation": 1,
                "step": self.told,
                **fields,
            }
            assert self.spool.write(json.dumps(record).encode() + b"\n")
            self.told += 1

    def bring(self, *, ended: bool = False) -> None:
        while self.upload.advance(self.keeper, ended=ended):  # type: ignore[arg-type]
            pass


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


class TestStream:
    """One stream, without processes."""

    def test_all_arrive_in_order_and_parts_that_have_are_deleted(self, site: Site) -> None:
        site.tell(1000)

        site.bring(ended=True)

        assert site.keeper.seqs() == list(range(1000))
        assert site.upload.done
        assert len(list(site.directory.iterdir())) == 1

    def test_few_requests_bring_many_records(self, site: Site) -> None:
        site.spool = Spool(site.directory, part=1 << 20)
        site.tell(3000)

        site.bring()

        assert site.keeper.requests == 10

    def test_a_supervisor_that_begins_again_sends_nothing_twice_to_the_files(self, site: Site) -> None:
        site.tell(500)
        site.bring()
        site.restart()
        site.tell(500)
        site.bring(ended=True)

        assert site.keeper.seqs() == list(range(1000))

    def test_a_server_that_was_away_gets_what_it_missed(self, site: Site) -> None:
        site.tell(100)
        site.bring()
        site.keeper.away = True
        site.tell(100)
        for _ in range(3):
            with pytest.raises(Away):
                site.bring()
        site.keeper.away = False
        site.tell(10)
        site.bring()

        assert site.keeper.seqs() == list(range(210))

    def test_what_is_lost_for_good_is_passed_over(self, site: Site) -> None:
        site.tell(300)
        for part in sorted(site.directory.iterdir())[:3]:
            part.unlink()
        kept = json.loads(min(site.directory.iterdir()).read_bytes().splitlines()[0])["seq"]

        site.bring(ended=True)

        assert kept > 0
        assert site.keeper.seqs() == list(range(kept, 300))
        assert site.upload.done

    def test_a_server_that_forgot_everything_gets_what_is_still_here(self, site: Site) -> None:
        site.tell(100)
        site.bring()
        site.keeper.steps.remove("job")
        site.tell(1)

        site.bring()

        got = site.keeper.seqs()
        assert got == list(range(got[0], 101))
        assert got[0] < 100, "the part that is not full was still here"

    def test_a_record_that_nobody_wants_holds_up_no_other(self, site: Site) -> None:
        no = InputInvalid("this is none", remedy="none")
        site.keeper.refuses = lambda record: no if record["seq"] in (0, 50) else None
        site.tell(100)

        site.bring(ended=True)

        assert site.keeper.seqs() == [seq for seq in range(100) if seq not in (0, 50)]

    def test_the_records_of_a_deleted_job_are_dropped(self, site: Site) -> None:
        site.keeper.refuses = lambda _: NotFound("there is no such job", remedy="none")
        site.tell(10)

        site.bring()

        assert site.upload.done

    @pytest.mark.parametrize(
        "rubbish", [b'{"seq": 1', b"\n[]\n", b"\x00" * 100, b'{"seq": "x"}\n', b"x" * 600_000]
    )
    def test_rubbish_in_a_spool_is_passed_over(self, site: Site, rubbish: bytes) -> None:
        site.tell(5)
        with max(site.directory.iterdir()).open("ab") as part:
            part.write(rubbish + b"\n")
        site.spool = Spool(site.directory, part=2000)
        site.tell(100)

        site.bring(ended=True)

        assert site.keeper.seqs() == list(range(105))
        assert site.upload.done

    def test_half_a_line_at_the_end_is_waited_for_until_the_worker_is_gone(self, site: Site) -> None:
        site.tell(1)
        with max(site.directory.iterdir()).open("ab") as part:
            part.write(b'{"seq": 1, "ki')

        done = []
        for ended in (False, True):
            site.bring(ended=ended)
            done.append(site.upload.done)

        assert done == [False, True]
        assert site.keeper.seqs() == [0]


def test_news_are_numbered_on_after_a_restart_and_told_once(tmp_path: Path) -> None:
    News(tmp_path / "news").tell("hung", step=3, generation=1, stack="…")
    again = News(tmp_path / "news")
    again.tell_once("hung", step=3, generation=1)
    again.tell_once("loss", step=3, generation=1, reason="żaden")

    assert [(one["seq"], one["kind"]) for one in again.kept()] == [(0, "hung"), (1, "loss")]


class Platform(Desk):
    """The whole server, with its store: what is told becomes series and events."""

    def __init__(self, directory: Path) -> None:
        super().__init__(some_settings())
        self.store = MemoryStore()
        self.store.write(lambda tx: tx.add_token(Token(digest=digest_of(TOKEN), user="uzel", kind=JOIN)))
        self.steps = StepStore(directory / "records", keep_bytes=1 << 20)
        self._files = Files(LogStore(directory / "logs", keep_bytes=1 << 20), self.steps)

    def make_app(self) -> FastAPI:
        gate = Gate(self.store)
        credentials = NodeCredentials(
            *(self.store, gate, Assignments(self.store, lambda node, worker: True)),
            *(self.settings.nodes, time.time),
        )
        router = node_router(self.engine, self.logs, credentials, self.settings)
        app = create_app(self.store, self._files, self.settings, time.time, [router], gate=gate)
        app.state.assignments = credentials.assignments
        return app

    def add_job(self, job: str) -> None:
        spec = a_spec(name="тренировка")
        progress = Progress(left=0.0, as_of=0.0)
        self.store.write(
            lambda tx: tx.add_job(
                Job(id=job, number=0, revision=0, spec=spec, owner="x", submitted_at=0.0, progress=progress)
            )
        )

    def records(self, order: WorkerOrder, teller: str = "worker") -> list[dict[str, Any]]:
        return list(self.steps.read(Stream(order.id, teller)))

    def seqs(self, order: WorkerOrder) -> list[int]:
        return [record["seq"] for record in self.records(order)]

    def has_step(self, order: WorkerOrder, step: int) -> bool:
        return any(record["step"] == step for record in self.records(order))

    def events(self, kind: str) -> list[Event]:
        return self.store.read(lambda tx: tx.events(EventQuery(kind=kind)))


PUPPET = """
import json, os, pathlib, sys
from tenuto.wire.spool import Spool
spool = Spool(pathlib.Path(os.environ["TENUTO_LINK"]) / "steps", part=4000)
while True:
    with open(sys.argv[1]) as strings:
        for line in strings:
            kind, count = line.split()
            if kind == "exit":
                os._exit(int(count))
            for _ in range(int(count)):
                seq = spool.next_seq()
                record = {"seq": seq, "kind": kind, "at": 1.0, "generation": 1, "step": seq}
                spool.write(json.dumps(record).encode() + b"\\n")
"""


@dataclass
class Puppet:
    """A linked worker whose strings are pulled through a pipe, and which spools as the SDK does."""

    order: WorkerOrder
    pipe: Path

    def tell(self, count: int, kind: str = "step") -> None:
        """Have it spool so many records."""
        with self.pipe.open("w") as strings:
            strings.write(f"{kind} {count}\n")

    def exit(self, code: int = 0) -> None:
        self.tell(code, "exit")


@pytest.fixture(scope="module")
def shared_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Platform, Node]]:
    home = tmp_path_factory.mktemp("дом")
    with a_node(home, desk=Platform(home), by_file=True) as (desk, node):
        assert isinstance(desk, Platform)
        yield desk, node


@pytest.fixture
def platform(shared_platform: tuple[Platform, Node]) -> Iterator[tuple[Platform, Node]]:
    """A platform that other stories use as well; afterwards nothing is wanted there."""
    desk, node = shared_platform
    yield desk, node
    desk.want()
    desk.until(lambda: not desk.engine.observe().workers)


def a_puppet(desk: Platform, directory: Path, job: str) -> Puppet:
    desk.add_job(job)
    pipe = directory / f"{job}.pipe"
    os.mkfifo(pipe)
    order = a_program(PUPPET, job, linked=True)
    puppet = Puppet(replace(order, argv=(*order.argv, str(pipe))), pipe)
    desk.want(puppet.order)
    desk.until_running(puppet.order)
    return puppet


def test_the_server_is_away_in_mid_training_and_gets_everything_once_and_in_order(
    platform: tuple[Platform, Node], tmp_path: Path
) -> None:
    desk, node = platform
    puppet = a_puppet(desk, tmp_path, "away")
    puppet.tell(50)
    desk.until(lambda: len(desk.seqs(puppet.order)) == 50)

    desk.down()
    puppet.tell(200)
    puppet.tell(1, "rescale")
    desk.up()
    node.write_url()
    desk.want(puppet.order)
    puppet.tell(50)

    desk.until(lambda: len(desk.seqs(puppet.order)) == 301)
    assert desk.seqs(puppet.order) == list(range(301))
    (event,) = desk.events("rescale")
    assert (event.job, event.data["seq"]) == ("away", 250)


def test_a_supervisor_that_is_killed_and_comes_back_leaves_nothing_out(
    platform: tuple[Platform, Node], tmp_path: Path
) -> None:
    desk, node = platform
    puppet = a_puppet(desk, tmp_path, "killed")
    for _ in range(3):
        puppet.tell(40)
        node.kill()
        puppet.tell(40)
        node.come_back()

    desk.until(lambda: len(desk.seqs(puppet.order)) == 240)
    assert desk.seqs(puppet.order) == list(range(240))


def test_what_a_dead_worker_has_told_is_brought_over_before_it_is_forgotten(
    platform: tuple[Platform, Node], tmp_path: Path
) -> None:
    desk, node = platform
    puppet = a_puppet(desk, tmp_path, "dead")
    desk.down()
    puppet.tell(100)
    News(node.files(puppet.order) / "news").tell("hung", step=99, generation=1, worker="w", seconds=6.0)
    puppet.exit(7)
    desk.up()
    node.write_url()
    desk.want()  # nobody wants to see it any more

    desk.until(lambda: not node.files(puppet.order).exists())
    assert desk.seqs(puppet.order) == list(range(100))
    assert [event.data["seconds"] for event in desk.events("hung")] == [6.0]


def test_the_report_file_of_any_program_becomes_a_series(
    platform: tuple[Platform, Node], tmp_path: Path
) -> None:
    desk, _ = platform
    desk.add_job("job2")
    desk.add_job("job3")
    code = f"""
import os, pathlib
with open({str(tmp_path / "pipe")!r}) as told, open(os.environ["TENUTO_REPORT"], "a") as report:
    for line in told:
        report.write(line); report.flush()
"""
    os.mkfifo(tmp_path / "pipe")
    order = a_program(code, "job2", env={"RANK": "0", "WORLD_SIZE": "2", "TENUTO_GLOBAL_BATCH": "64"})
    desk.want(order, an_order("job3", slot=1))
    with (tmp_path / "pipe").open("w", buffering=1) as strings:
        for step in (10, 20, 30):
            strings.write(f'{{"step": {step}, "ztráta": {1 / step}}}\n')
            desk.until(partial(desk.has_step, order, step))
    desk.until_exited(order)

    first, second, third = desk.records(order)

    assert [first["seq"], second["seq"], third["seq"]] == [0, 1, 2]
    assert third["values"] == {"ztráta": pytest.approx(1 / 30)}
    assert (third["world"], third["rank"], third["samples"]) == (2, 0, 30 * 64)
    assert third["samples_per_second"] == pytest.approx(64 / third["seconds"])
    assert desk.records(an_order("job3", slot=1)) == []
