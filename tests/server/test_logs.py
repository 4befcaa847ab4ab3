"""Logs: pieces that fit together again, last lines, whole files; no character is cut in two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.serving import NOW, Served, a_server
from tests.store.records import an_attempt

from tenuto.server.utf8 import whole_characters
from tenuto.wire.worker import WorkerId

TEXT = "zażółć gęślą jaźń 학습 중 训练 🦦\n" * 5


def printed(
    server: Served, job: str, text: bytes, *, generation: int = 1, role: str = "worker", rank: int = 0
) -> None:
    worker = WorkerId(job, generation, role, rank)
    server.logs.append(worker, server.logs.extent(worker)[1], text)


def attempted(server: Served, job: str, **fields: Any) -> None:
    server.store.write(lambda tx: tx.put_attempt(an_attempt(job, **fields)))


def parts(server: Served, job: str, **query: Any) -> list[Any]:
    found: list[Any] = server.get(f"/jobs/{job}/logs", **query)["parts"]
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all: every test has jobs of its own."""
    with a_server(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture
def server(shared: Served) -> Served:
    """The server, at the time at which every test begins."""
    shared.clock.now = NOW
    return shared


@pytest.fixture
def job(server: Served) -> str:
    id_: str = server.submit("gadatliwy")["id"]
    return id_


@pytest.mark.parametrize("limit", [16, 17, 18, 19, 100, 1 << 20])
def test_pieces_fit_together_and_hold_whole_characters_only(server: Served, job: str, limit: int) -> None:
    printed(server, job, TEXT.encode())

    offset, text = 0, ""
    while True:
        [part] = parts(server, job, offset=offset, limit=limit)
        assert part["offset"] == offset
        if part["next"] == offset:
            break
        text += part["text"]
        offset = part["next"]

    assert text == TEXT


def test_half_a_character_waits_for_its_other_half(server: Served, job: str) -> None:
    printed(server, job, "학".encode()[:2])
    [part] = parts(server, job)
    assert (part["text"], part["next"]) == ("", 0)

    printed(server, job, "학".encode()[2:])

    assert parts(server, job)[0]["text"] == "학"


def test_bytes_that_are_no_text_are_shown_as_such_and_passed_by(server: Served, job: str) -> None:
    printed(server, job, b"a\xff\xfe\x80b\n" + b"\x80" * 100)

    [part] = parts(server, job)

    assert part["text"].startswith("a���b\n")
    assert part["next"] == 106


def test_the_workers_of_a_generation_come_together_workers_first(server: Served, job: str) -> None:
    attempted(server, job, generation=2, rank=1, node="node-1")
    for role, rank in (("ps", 0), ("worker", 1), ("worker", 0)):
        printed(server, job, f"{role} {rank}\n".encode(), generation=2, role=role, rank=rank)
    printed(server, job, b"old\n", generation=1)

    found = server.get(f"/jobs/{job}/logs")

    assert found["generation"] == 2
    assert [part["text"] for part in found["parts"]] == ["worker 0\n", "worker 1\n", "ps 0\n"]
    assert [part["node"] for part in found["parts"]] == ["", "node-1", ""]
    assert [part["text"] for part in parts(server, job, role="ps")] == ["ps 0\n"]
    assert [part["text"] for part in parts(server, job, rank=1)] == ["worker 1\n"]
    assert [part["text"] for part in parts(server, job, generation=1)] == ["old\n"]
    assert parts(server, job, generation=7) == []


def test_the_last_lines_of_each(server: Served, job: str) -> None:
    for rank in (0, 1):
        printed(server, job, b"".join(b"line %d\n" % n for n in range(1000)), rank=rank)

    found = parts(server, job, tail=2)

    assert [part["text"] for part in found] == ["line 998\nline 999\n"] * 2
    printed(server, job, b"line 1000\n")
    [more] = parts(server, job, rank=0, offset=found[0]["next"])
    assert more["text"] == "line 1000\n"
    assert [part["text"] for part in parts(server, job, tail=0)] == ["", ""]


def test_a_log_has_ended_when_its_worker_has_and_its_last_line_is_there(server: Served, job: str) -> None:
    printed(server, job, b"one\n")
    attempted(server, job)
    assert not parts(server, job)[0]["ended"]
    attempted(server, job, ended_at=NOW, exit_code=0)
    assert not parts(server, job)[0]["ended"]

    printed(server, job, b"Program exit with code 0\n")

    [part] = parts(server, job)
    assert (part["ended"], part["exit_code"]) == (True, 0)
    assert not parts(server, job, limit=16)[0]["ended"]


def test_a_log_whose_end_was_lost_has_ended_after_a_while(server: Served, job: str) -> None:
    printed(server, job, "half a 학".encode()[:-1])
    attempted(server, job, ended_at=NOW)
    assert not parts(server, job)[0]["ended"]

    server.clock.now += 11

    [part] = parts(server, job)
    assert (part["ended"], part["text"]) == (True, "half a �")


def test_a_log_is_downloaded_byte_for_byte(server: Served, job: str) -> None:
    data = bytes(range(256)) * 4000
    printed(server, job, data, rank=3)

    answer = server.http.get(f"/jobs/{job}/logs/raw", params={"rank": 3})

    assert answer.content == data
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert f"{job}.1.worker.3.log" in answer.headers["Content-Disposition"]
    assert server.refused("GET", f"/jobs/{job}/logs/raw?rank=4")["code"] == "not_found"


def test_what_is_no_longer_kept_is_passed_by(server: Served, job: str) -> None:
    worker = WorkerId(job, 1, "worker", 0)
    server.logs.append(worker, 1000, b"late\n")

    [part] = parts(server, job)

    assert (part["offset"], part["next"], part["text"]) == (1000, 1005, "late\n")
    assert server.http.get(f"/jobs/{job}/logs/raw").content == b"late\n"


def test_many_workers_do_not_make_a_huge_answer(server: Served, job: str) -> None:
    for rank in range(64):
        printed(server, job, b"x" * (1 << 18), rank=rank)

    answer = server.http.get(f"/jobs/{job}/logs", params={"limit": 1 << 20})

    assert len(answer.content) < 5 << 20
    assert len(answer.json()["parts"]) == 64


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (b"", b""),
        (b"abc", b"abc"),
        ("aż".encode(), "aż".encode()),
        ("aż".encode()[:-1], b"a"),
        ("a🦦".encode()[:-1], b"a"),
        ("a🦦".encode()[:-3], b"a"),
        (b"a\xff", b"a\xff"),
        (b"a\x80\x80\x80\x80", b"a\x80\x80\x80\x80"),
    ],
)
def test_only_a_character_that_may_still_be_completed_is_left_for_later(data: bytes, kept: bytes) -> None:
    assert whole_characters(data) == kept
