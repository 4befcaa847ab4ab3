"""The event stream: everything that was asked for, in order, once; to many, to slow ones, and across a restart."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.serving import NOW, QUICK, TOKEN, Served, a_server

from tenuto.client.stream import Frame, Frames
from tenuto.model.event import Event
from tenuto.server import recent as recent_module
from tenuto.server import stream as stream_module
from tenuto.server.event_retention import removed_key
from tenuto.server.stream import Ear, Listener
from tenuto.store.base import Tx
from tenuto.wire.worker import WORKER, WorkerId

HANG = 60.0
MANY = 100


def happen(server: Served, count: int = 1, **fields: Any) -> None:
    """Let something happen so often, in one commit."""

    def act(tx: Tx) -> None:
        for _ in range(count):
            tx.add_event(Event(**{"kind": "phase", "at": NOW, "actor": "controller", "job": "k1", **fields}))

    server.store.write(act)


@contextmanager
def listening(
    server: Served, headers: dict[str, str] | None = None, **query: Any
) -> Iterator[Iterator[Frame]]:
    """The messages of a stream; the first one is the opening."""
    with (
        httpx.Client(base_url=server.http.base_url, headers=server.http.headers, **QUICK) as http,
        http.stream("GET", "/events/stream", params=query, headers=headers) as answer,
    ):
        assert answer.status_code == 200, answer.read()
        frames = Frames()
        yield (frame for data in answer.iter_bytes() for frame in frames.feed(data))


def numbers(frames: Iterator[Frame], count: int) -> list[int]:
    return [json.loads(frame.data)["id"] for frame in islice(frames, count)]


def test_a_listener_hears_what_happens_from_now_on(server: Served) -> None:
    happen(server, 3)

    with listening(server) as frames:
        opening = next(frames)
        happen(server, reason="학습 is over\u2028really\x85\n")
        told = next(frames)

    assert opening.name == "open"
    assert opening.json() == {"after": 3, "topics": ["cluster", "jobs", "nodes"], "job": None, "gap": False}
    assert (told.name, told.id) == ("jobs", 4)
    assert told.json()["reason"] == "학습 is over\u2028really\x85\n"


def test_who_was_cut_off_goes_on_behind_what_was_heard(server: Served) -> None:
    happen(server, 7)

    with listening(server, {"Last-Event-ID": "4"}) as frames:
        opening = next(frames)
        assert numbers(frames, 3) == [5, 6, 7]
        happen(server)
        assert numbers(frames, 1) == [8]

    assert opening.id == 4


def test_the_header_of_a_browser_counts_more_than_the_address_that_it_repeats(server: Served) -> None:
    happen(server, 5)

    with listening(server, {"Last-Event-ID": "4"}, after=1) as frames:
        next(frames)
        assert numbers(frames, 1) == [5]


def test_a_stream_that_begins_among_removed_events_says_so_and_goes_on(server: Served) -> None:
    happen(server, 10)
    server.store.write(lambda tx: tx.remove_events(8, 100))

    with listening(server, after=3) as frames:
        assert next(frames).json()["gap"] is True
        assert numbers(frames, 3) == [8, 9, 10]
    with listening(server, after=7) as frames:
        assert next(frames).json()["gap"] is False


def test_a_listener_whose_next_events_were_removed_before_they_were_sent_is_told(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "PAGE", 5)
    happen(server, 40)
    listener = Listener(server.app.state.platform, Ear(frozenset({"jobs"}), "", "", ""), 0)

    first, place, more = server.store.read(listener._older)
    listener._place = place
    server.store.write(lambda tx: tx.remove_events(31, 100))
    told = [frame for data in server.store.read(listener._older)[0] for frame in Frames().feed(data)]

    assert (len(first), more) == (5, True)
    assert (told[0].name, told[0].json()["gap"], told[0].json()["after"]) == ("open", True, 5)
    assert [frame.id for frame in told[1:]] == [31, 32, 33, 34, 35]


def test_events_removed_between_others_are_told_once_and_not_with_every_page(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_module, "PAGE", 5)
    happen(server, 40)
    server.store.write(lambda tx: tx.set_meta(removed_key(""), 30))
    listener = Listener(server.app.state.platform, Ear(frozenset({"jobs"}), "", "", ""), 0)

    pages = []
    for _ in range(3):
        pieces, listener._place, _ = server.store.read(listener._older)
        pages.append([frame.name for data in pieces for frame in Frames().feed(data)])

    assert [page.count("open") for page in pages] == [1, 0, 0]


def test_a_number_that_is_not_reached_yet_means_now(server: Served) -> None:
    happen(server, 2)

    with listening(server, after=1000) as frames:
        assert next(frames).json()["after"] == 2
        happen(server)
        assert numbers(frames, 1) == [3]


def test_nothing_is_lost_or_told_twice_when_the_server_is_started_anew(tmp_path: Path) -> None:
    heard: list[int] = []
    for _ in range(3):
        with a_server(tmp_path) as server:
            happen(server, 4)
            last = {"Last-Event-ID": str(heard[-1])} if heard else None
            with listening(server, last, **({} if last else {"after": 0})) as frames:
                next(frames)
                heard += numbers(frames, 4)
                happen(server, 3)  # of which only the first is heard before the server ends
                heard += numbers(frames, 1)

    assert heard == list(range(1, heard[-1] + 1))


def test_many_who_are_far_behind_read_from_the_store(server: Served) -> None:
    happen(server, 1203)

    with listening(server, after=0) as frames:
        next(frames)
        assert numbers(frames, 1203) == list(range(1, 1204))


def test_a_hundred_listeners_hear_the_same(server: Served) -> None:
    ready = threading.Barrier(MANY + 1, timeout=HANG)

    def listen() -> list[int]:
        with listening(server) as frames:
            next(frames)
            ready.wait()
            return numbers(frames, 40)

    with ThreadPoolExecutor(MANY) as threads:
        heard = [threads.submit(listen) for _ in range(MANY)]
        ready.wait()
        before = threading.active_count()
        for _ in range(10):
            happen(server, 4)
        assert {tuple(one.result(HANG)) for one in heard} == {tuple(range(1, 41))}

    assert before < MANY + 60, "a listener costs the server no thread"


def test_a_commit_is_looked_at_once_for_all_listeners(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def noted(event: Event) -> recent_module.Told:
        written.append(event.id)
        return recent_module.told(event)

    monkeypatch.setattr("tenuto.server.waiting.told", noted)

    with listening(server) as one, listening(server) as other:
        for frames in (one, other):
            next(frames)
        for number in range(1, 11):
            happen(server)
            assert numbers(one, 1) == numbers(other, 1) == [number]

    assert written == list(range(1, 11))


def test_who_reads_slowly_costs_no_memory_and_misses_nothing(server: Served) -> None:
    slow = socket.socket()
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.settimeout(HANG)
    with slow:
        slow.connect(("127.0.0.1", int(server.url.rpartition(":")[2])))
        head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        slow.sendall(f"GET /api/v1/events/stream?after=0 HTTP/1.1\r\n{head}\r\n".encode())
        assert slow.recv(10)
        with listening(server) as frames:
            next(frames)
            for _ in range(20):
                happen(server, 100, reason="x" * 4000)
            assert numbers(frames, 2000)[-1] == 2000
            kept = server.app.state.platform.bell.recent
            assert kept.since >= 2000 - recent_module.KEPT
        pieces = bytearray()
        while b"id: 2000\n" not in pieces[-70000:]:
            pieces += slow.recv(1 << 16)

    ids = [int(line[4:]) for line in bytes(pieces).split(b"\n") if line.startswith(b"id: ")]
    assert [one for one in ids if one] == list(range(1, 2001))


WISHES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["job k1", "job k2", "node a", "k1 on a", "cluster"]),
    ({"topics": "nodes"}, ["node a"]),
    ({"topics": "jobs,cluster"}, ["job k1", "job k2", "k1 on a", "cluster"]),
    ({"node": "a"}, ["node a", "k1 on a"]),
    ({"job": "k2"}, ["job k2"]),
    ({"job": "k1", "topics": "jobs,nodes"}, ["job k1", "node a", "k1 on a"]),
    ({"kind": "policy"}, ["cluster"]),
]


@pytest.mark.parametrize("live", [True, False])
def test_only_what_is_asked_for_is_told(server: Served, live: bool) -> None:
    happen(server, job="k2", reason="before")  # so that the jobs are known
    happen(server, job="k1", reason="before")

    def act() -> None:
        happen(server, job="k1", reason="job k1")
        happen(server, job="k2", reason="job k2")
        happen(server, kind="node", job="", node="a", reason="node a")
        happen(server, kind="worker", node="a", reason="k1 on a")
        happen(server, kind="policy", job="", reason="cluster")

    if not live:
        act()
    with ExitStack() as listeners:
        streams = [listeners.enter_context(listening(server, after=2, **query)) for query, _ in WISHES]
        for frames in streams:
            next(frames)
        if live:
            act()
        for frames, (_, heard) in zip(streams, WISHES, strict=True):
            assert [frame.json()["reason"] for frame in islice(frames, len(heard))] == heard


def test_a_job_that_was_deleted_tells_of_its_end_and_can_still_be_asked_for(server: Served) -> None:
    id_ = server.submit("학습")["id"]
    with listening(server, job="학습", after=0) as frames:
        assert next(frames).json()["job"] == id_
        server.http.delete(f"/jobs/{id_}")
        kinds = [frame.json()["kind"] for frame in islice(frames, 2)]

    assert kinds == ["submitted", "deleted"]
    with listening(server, job=id_, after=0) as frames:
        next(frames)
        assert [frame.json()["kind"] for frame in islice(frames, 2)] == kinds


def test_what_workers_print_comes_as_it_is_printed(server: Served) -> None:
    id_ = server.submit("학습")["id"]
    worker = WorkerId(id_, 1, WORKER, 0)
    server.logs.append(worker, 0, b"before anybody listened\n")
    with listening(server, topics="logs", job=id_) as frames:
        next(frames)
        server.logs.append(worker, 24, "half a 학".encode()[:-1])
        first = next(frames)
        server.logs.append(worker, 33, "학습\n".encode()[2:])
        second = next(frames)
        server.logs.append(WorkerId(id_, 2, WORKER, 1), 0, b"a newcomer\n")
        third = next(frames)

    assert (first.name, first.json()["offset"], first.json()["text"]) == ("logs", 24, "half a ")
    assert (second.json()["offset"], second.json()["text"]) == (31, "학습\n")
    assert (third.json()["offset"], third.json()["text"], third.json()["rank"]) == (0, "a newcomer\n", 1)


def test_much_that_is_printed_comes_in_pieces(server: Served) -> None:
    id_ = server.submit()["id"]
    text = "".join(f"строка {number}\n" for number in range(30_000))
    with listening(server, topics="logs", job=id_) as frames:
        next(frames)
        server.logs.append(WorkerId(id_, 1, WORKER, 0), 0, text.encode())
        heard = ""
        while len(heard) < len(text):
            heard += next(frames).json()["text"]

    assert heard == text


def test_what_cannot_be_heard_is_refused_before_it_begins(server: Served) -> None:
    wrong = {
        "topics=lgos&job=k1": "topics",
        "topics=logs": "job",
        "after=-1": "after",
        "after=x": "after",
        "limit=3": "limit",
        "timeout=-1": "timeout",
    }
    for query, field in wrong.items():
        told = server.refused("GET", f"/events/stream?{query}")
        assert (told["status"], told["field"]) == (422, field)
    assert server.refused("GET", "/events/stream?job=nobody")["status"] == 404


def test_silence_is_broken_now_and_then(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "HEARTBEAT", 0.01)
    happen(server, 2)
    with server.http.stream("GET", "/events/stream") as answer:
        lines = iter(answer.iter_lines())
        while next(lines) != ": still here":
            pass

    assert answer.headers["X-Accel-Buffering"] == "no"
    assert answer.headers["Content-Type"].startswith("text/event-stream")


def test_a_stream_that_shall_end_does(server: Served) -> None:
    happen(server, 700)

    told = server.http.get("/events/stream", params={"after": 0, "timeout": 0}).text

    assert told.count("\ndata: ") == 701


def test_a_stream_that_shall_end_does_so_although_there_is_always_more_to_say(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def at_once(woken: asyncio.Event, seconds: float) -> bool:
        await asyncio.sleep(0)
        return True

    monkeypatch.setattr(stream_module, "_heard", at_once)

    told = server.http.get("/events/stream", params={"timeout": 0.01}).text

    assert told.startswith("retry: ")


def test_the_list_becomes_a_stream_for_who_takes_one(server: Served) -> None:
    happen(server)

    told = server.http.get(
        "/events", params={"after": 0, "timeout": 0}, headers={"Accept": "text/event-stream"}
    )

    assert told.headers["Content-Type"].startswith("text/event-stream")
    assert "event: jobs\n" in told.text
    assert server.get("/events", after=0)["items"][0]["id"] == 1


def test_all_who_listen_are_let_go_when_the_server_is_to_end(server: Served) -> None:
    with listening(server) as frames:
        next(frames)
        server.app.state.platform.bell.close()
        assert list(frames) == []


def test_nobody_who_has_gone_is_remembered(server: Served) -> None:
    bell = server.app.state.platform.bell
    id_ = server.submit()["id"]
    for _ in range(3):
        with listening(server, topics="jobs,logs", job=id_) as frames:
            next(frames)
    gone = threading.Event()
    for _ in range(3000):
        if not bell._listening and bell.recent is None and not server.logs._rings:
            return
        gone.wait(0.01)
    raise AssertionError("listeners are left")
