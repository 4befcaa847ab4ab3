"""Supervisors talk to each other: words arrive, newer ones replace older ones, and strangers are not listened to."""

from __future__ import annotations

import http.client
import queue
import socket
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.post import Post
from tenuto.engines.supervisor.crews.reception import Reception
from tenuto.engines.supervisor.crews.seats import Seat
from tenuto.engines.supervisor.crews.words import JOB_HEADER, MOST_BYTES, PATH, Word, as_heard, for_others
from tenuto.wire.codec import encode
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage, Status
from tenuto.wire.worker import CrewOrder

HANG = 20.0
SECRETS = {job: f"geheim-{number}" for number, job in enumerate(("작업", "one", "two"))}


def some_keys() -> PeerKeys:
    """The secrets of some jobs, of which two nodes may speak."""
    keys, nodes = PeerKeys(), {"węzeł": "", "b": ""}
    keys.replace(
        CrewOrder(job=job, plan=1, members=(), lead="b", peers=nodes, hosts=nodes, secret=secret)
        for job, secret in SECRETS.items()
    )
    return keys


class Listener:
    def __init__(self) -> None:
        self.heard: queue.Queue[Word] = queue.Queue()
        self.reception = Reception("127.0.0.1", some_keys(), self.heard.put)

    @property
    def port(self) -> int:
        return int(self.reception.address.rpartition(":")[2])


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    one.reception.close()


@pytest.fixture
def post() -> Iterator[Post]:
    one = Post(some_keys())
    yield one
    one.close()


def a_word(number: int = 1, job: str = "작업", node: str = "węzeł") -> Word:
    seat = Seat(node="a", host="127.0.0.1", status=Status(stage=Stage.READY, since=3.0, port=7))
    member = Member(worker="작업.1.worker.0", node="a", host="127.0.0.1", port=7)
    newest = Membership(job=job, generation=4, members=(member,), why="loss", lost=("작업.1.worker.1",))
    return Word(
        job=job,
        node=node,
        session="s",
        number=number,
        address="127.0.0.1:9",
        seats={"작업.1.worker.0": seat},
        memberships=(newest,),
        evict=("작업.1.worker.2",),
    )


def said(job: str, secret: str) -> dict[str, str]:
    """The headers of a message about a job."""
    return {"Authorization": f"Bearer {secret}", JOB_HEADER: quote(job)}


def test_a_word_arrives_as_it_was_said(post: Post, listener: Listener) -> None:
    post.send("b", listener.reception.address, a_word())

    assert listener.heard.get(timeout=HANG) == a_word()


def test_a_word_to_one_who_is_away_arrives_when_he_is_back(post: Post) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        away = f"127.0.0.1:{taken.getsockname()[1]}"
    post.send("b", away, a_word(1))
    there = Listener()

    post.send("b", there.reception.address, a_word(2))

    assert there.heard.get(timeout=HANG).number == 2, "the older one is not sent any more"
    assert there.heard.empty()
    there.reception.close()


def test_words_about_two_jobs_do_not_replace_each_other(post: Post, listener: Listener) -> None:
    for job in ("one", "two"):
        post.send("b", listener.reception.address, a_word(job=job))

    assert {listener.heard.get(timeout=HANG).job for _ in range(2)} == {"one", "two"}


def test_how_long_ago_is_told_and_not_when() -> None:
    told = for_others({"w": Seat(node="a", host="h", status=Status(since=90.0))}, now=100.0)
    word = Word(job="j", node="a", session="s", number=1, address="", seats=told)

    heard = as_heard(word, now=5000.0)

    assert heard["w"].since == 4990.0


@pytest.mark.parametrize(
    ("headers", "path", "body", "status"),
    [
        (said("작업", "wrong"), PATH, encode(a_word()), 401),
        (said("작업", ""), PATH, encode(a_word()), 401),
        ({"Authorization": f"Bearer {SECRETS['작업']}"}, PATH, encode(a_word()), 401),
        ({}, PATH, encode(a_word()), 401),
        (said("작업", SECRETS["one"]), PATH, encode(a_word()), 401),
        (said("nobody's", ""), PATH, encode(a_word(job="nobody's")), 401),
        (said("one", SECRETS["one"]), PATH, encode(a_word()), 403),
        (said("작업", SECRETS["작업"]), PATH, encode(a_word(node="elsewhere")), 403),
        (said("작업", SECRETS["작업"]), "/elsewhere", encode(a_word()), 404),
        (said("작업", SECRETS["작업"]), PATH, b"{}", 422),
        (said("작업", SECRETS["작업"]), PATH, b"\xff", 422),
        (said("작업", SECRETS["작업"]) | {"Content-Length": str(MOST_BYTES + 1)}, PATH, b"", 413),
        (said("작업", SECRETS["작업"]) | {"Content-Length": "viel"}, PATH, b"", 411),
    ],
)
def test_who_is_a_stranger_or_talks_nonsense_is_not_listened_to(
    listener: Listener, headers: dict[str, str], path: str, body: bytes, status: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", listener.port, timeout=HANG)
    connection.request("POST", path, body=body, headers=headers)

    assert connection.getresponse().status == status
    connection.close()
    assert listener.heard.empty()
