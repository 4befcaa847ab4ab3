"""How a server takes samples in, over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.engines.serving import Dialler, Server, an_app

from tenuto.engines import node_uploads
from tenuto.engines.local import LocalEngine
from tenuto.engines.node_limits import LAST_MOMENT
from tenuto.engines.node_uploads import TAKERS
from tenuto.engines.supervisor.sampling.shelf import BATCH_BYTES
from tenuto.model.node import Slot
from tenuto.monitor.lines import encode
from tenuto.settings import Monitor, Settings
from tenuto.wire.codec import encode as to_json
from tenuto.wire.node import SAMPLES, Acknowledged, Hello, Report, Sampled, Samples, Welcome
from tenuto.wire.sample import DiskSample, Gap, GpuProcess, GpuSample, NetSample, NodeSample

HELLO = Hello(node="노드-0", session="s-1", slots=(Slot(),), address="10.0.0.1", version="1")
TOLD = Samples(node="노드-0", session="s-1", samples=(NodeSample(at=1.0, cpu=50.0),))
HANG = 60.0


class Sink:
    """Keeps samples, unless somebody holds it."""

    def __init__(self) -> None:
        self.told: list[Samples] = []
        self.held = threading.Event()
        self.held.set()
        self.entered = threading.Semaphore(0)

    def take(self, told: Samples) -> Sampled:
        self.entered.release()
        assert self.held.wait(2 * HANG)
        self.told.append(told)
        return Sampled(kept=told.samples[-1].at)


@pytest.fixture
def sink() -> Iterator[Sink]:
    one = Sink()
    yield one
    one.held.set()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def node(server: Server, sink: Sink) -> Iterator[Dialler]:
    engine = LocalEngine()
    settings = Settings(monitor=Monitor(period=0.5, upload=3.0))
    server.app = an_app(engine, settings=settings, samples=sink)
    with Dialler(server.url) as dialler:
        dialler.say("/hello", HELLO, Welcome)
        yield dialler
    engine.close()


def test_a_supervisor_is_told_how_often_to_sample_and_to_bring_it(node: Dialler) -> None:
    welcome = node.say("/hello", HELLO, Welcome)

    assert (welcome.sample_every, welcome.upload_every) == (0.5, 3.0)


def test_samples_are_handed_on_and_the_answer_says_which_are_safe(node: Dialler, sink: Sink) -> None:
    assert node.say("/samples", TOLD, Sampled) == Sampled(kept=1.0)
    assert sink.told == [TOLD]


def test_a_server_without_a_history_takes_samples_and_keeps_none(server: Server) -> None:
    engine = LocalEngine()
    server.app = an_app(engine)
    with Dialler(server.url) as node:
        assert node.say("/hello", HELLO, Welcome).sample_every == 0.0
        assert node.say("/samples", TOLD, Sampled) == Sampled(kept=None)
    engine.close()


def test_nobody_speaks_for_a_node_whom_the_server_does_not_know(node: Dialler, sink: Sink) -> None:
    assert node.post("/samples", replace(TOLD, node="elsewhere")).json()["code"] == "not_your_node"
    assert node.post("/samples", replace(TOLD, session="")).json()["code"] == "say_hello"
    node.say("/hello", replace(HELLO, session="s-2"), Welcome)
    assert node.post("/samples", TOLD).json()["code"] == "superseded"
    assert sink.told == []


@pytest.mark.parametrize("at", [-1.0, LAST_MOMENT, float("nan"), float("inf")])
def test_a_moment_that_is_none_is_refused(node: Dialler, sink: Sink, at: float) -> None:
    gap = Gap(since=at, until=2.0, why="")
    for told in (replace(TOLD, samples=(NodeSample(at=at),)), replace(TOLD, gaps=(gap,))):
        assert node.post("/samples", told).status_code == 422
    assert node.post("/samples", b'{"node": "x"}').status_code == 422
    assert sink.told == []


@pytest.mark.parametrize(
    "sample",
    [
        NodeSample(at=1.0, ram_used=10**400),
        NodeSample(at=1.0, disks=(DiskSample(path="/", total=1 << 63),)),
        NodeSample(at=1.0, gpus=(GpuSample(index=10**400),)),
        NodeSample(at=1.0, gpus=(GpuSample(index=0, processes=(GpuProcess(pid=1, memory=10**400),)),)),
    ],
)
def test_a_number_that_nobody_can_have_is_refused(node: Dialler, sink: Sink, sample: NodeSample) -> None:
    assert node.post("/samples", replace(TOLD, samples=(sample,))).status_code == 422
    assert sink.told == []


def test_an_upload_is_bounded_and_what_a_supervisor_brings_at_once_fits(node: Dialler, sink: Sink) -> None:
    assert 2 * BATCH_BYTES < SAMPLES
    assert node.post("/samples", b" " * (SAMPLES + 1)).status_code == 413
    assert len(encode(a_large_node())) < 20_000

    many = replace(TOLD, samples=(a_large_node(),) * 60)
    assert node.post("/samples", many).status_code == 200
    assert len(sink.told[0].samples) == 60


def test_a_history_that_hangs_keeps_nothing_else_from_being_answered(
    node: Dialler, sink: Sink, server: Server
) -> None:
    sink.held.clear()
    answers: list[int] = []
    names = [f"노드-{number}" for number in range(TAKERS + 3)]
    waiting = [threading.Thread(target=upload, args=(server, name, answers)) for name in names]
    for one in waiting:
        one.start()
    for _ in range(TAKERS):
        assert sink.entered.acquire(timeout=HANG)

    node.say("/report", Report(node="노드-0", session="s-1", workers=()), Acknowledged)
    assert not sink.entered.acquire(blocking=False), "more than it may are taken in at a time"
    sink.held.set()
    for one in waiting:
        one.join(HANG)

    assert answers == [200] * (TAKERS + 3)


@pytest.mark.parametrize("limit", ["WAITING_PER_NODE", "MAX_WAITING_BYTES"])
def test_of_uploads_that_would_have_to_wait_only_so_many_do(
    node: Dialler, sink: Sink, server: Server, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    one_upload = {"WAITING_PER_NODE": 1, "MAX_WAITING_BYTES": len(to_json(TOLD))}
    monkeypatch.setattr(node_uploads, limit, one_upload[limit])
    sink.held.clear()
    first = threading.Thread(target=upload, args=(server, "노드-0", []))
    first.start()
    assert sink.entered.acquire(timeout=HANG)

    refused = node.post("/samples", TOLD)

    sink.held.set()
    first.join(HANG)
    assert (refused.status_code, refused.json()["code"]) == (503, "busy")


def upload(server: Server, name: str, answers: list[int]) -> None:
    with Dialler(server.url, node=name) as mine:
        mine.say("/hello", replace(HELLO, node=name), Welcome)
        answers.append(mine.post("/samples", replace(TOLD, node=name)).status_code)


def a_large_node() -> NodeSample:
    """16 GPUs, 128 cores, a hundred processes."""
    processes = tuple(
        GpuProcess(
            pid=4_000_000 + n,
            name="python3",
            user="użytkownik",
            memory=40 << 30,
            job="j" * 12,
            worker="w" * 24,
        )
        for n in range(6)
    )
    gpus = tuple(
        GpuSample(
            index=index,
            uuid="GPU-" + "0" * 36,
            name="NVIDIA H100 80GB HBM3",
            utilisation=99.0,
            memory_used=79 << 30,
            memory_total=80 << 30,
            power=699.123,
            power_limit=700.0,
            temperature=70.0,
            processes=processes,
        )
        for index in range(16)
    )
    return NodeSample(
        at=1_700_000_000.123,
        cpu=99.9,
        cores=(99.9,) * 128,
        disks=(DiskSample(path="/데이터", used=1 << 40, total=1 << 42, read=1e9, written=1e9),) * 4,
        nets=(NetSample(id="eth0", bandwidth=1e11, received=1e9, sent=1e9),) * 8,
        gpus=gpus,
    )
