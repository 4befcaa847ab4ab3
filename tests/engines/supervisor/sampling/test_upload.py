"""Samples find their way to servers that are slow, away, new or choosy."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import pytest
from tests.engines.real_nodes import until

from tenuto.engines.supervisor.sampling.shelf import Kept, Shelf
from tenuto.engines.supervisor.sampling.upload import LONGEST_PAUSE, NOT_WANTED, SampleUpload
from tenuto.engines.supervisor.server import Away, Refused, Server
from tenuto.errors import Conflict
from tenuto.wire.node import Hello, Sampled
from tenuto.wire.sample import Gap

SOON = 0.01
HELLO = Hello(node="węzeł", session="s", slots=(), address="", version="")


class Place:
    """What a supervisor sees of a server."""

    longest_pause = 0.01

    def __init__(self) -> None:
        self.greetings = 1
        self.has: list[bytes] = []
        self.gaps: list[Gap] = []
        self.kept: float | None = None
        self.again: float | None = None
        self.answer: Callable[[Sequence[bytes]], None] = lambda _: None
        """Raises what the server says instead of taking samples."""

    def samples(self, hello: Hello, lines: Sequence[bytes], gaps: Sequence[Gap]) -> Sampled:
        assert hello is HELLO
        self.answer(lines)
        self.has += lines
        self.gaps += gaps
        return Sampled(kept=self.kept, again=self.again)


@contextmanager
def uploading(place: Place, shelf: Shelf) -> Iterator[None]:
    upload = SampleUpload(cast(Server, place), HELLO, shelf)
    upload.want(SOON)
    try:
        yield
    finally:
        upload.end()


@pytest.fixture
def shelf() -> Shelf:
    shelf = Shelf()
    for at in (1.0, 2.0, 3.0):
        shelf.add(Kept(at, b"%d" % at))
    return shelf


def test_samples_are_let_go_only_when_they_are_safe(shelf: Shelf) -> None:
    place = Place()

    with uploading(place, shelf):
        until(lambda: place.has == [b"1", b"2", b"3"], "all have come")
        assert len(shelf) == 3
        place.kept = 2.0
        shelf.add(Kept(4.0, b"4"))
        until(lambda: len(shelf) == 2, "those that are safe are let go")

    assert place.has == [b"1", b"2", b"3", b"4"]


def test_a_server_that_was_away_gets_everything_once(shelf: Shelf) -> None:
    place, tries = Place(), []

    def away(lines: Sequence[bytes]) -> None:
        tries.append(lines)
        if len(tries) < 3:
            raise Away("nobody answers")

    place.answer = away
    with uploading(place, shelf):
        until(lambda: bool(place.has), "it is back")

    assert place.has == [b"1", b"2", b"3"]


def test_a_new_server_gets_again_what_the_last_one_had_not_for_good(shelf: Shelf) -> None:
    place = Place()
    with uploading(place, shelf):
        until(lambda: len(place.has) == 3, "all have come")

        place.has.clear()
        place.greetings += 1

        until(lambda: place.has == [b"1", b"2", b"3"], "all have come again")


def test_what_was_sent_while_a_server_was_greeted_does_not_count_as_sent(shelf: Shelf) -> None:
    place = Place()

    def greet(_: Sequence[bytes]) -> None:
        if place.greetings == 1:
            place.greetings, place.kept = 2, 3.0  # another one, whose history goes further than it knows of

    place.answer = greet
    with uploading(place, shelf):
        until(lambda: not len(shelf), "all are safe")

    assert place.has == [b"1", b"2", b"3"] * 2


def test_a_sample_that_the_server_does_not_want_keeps_no_other_from_it(
    shelf: Shelf, caplog: pytest.LogCaptureFixture
) -> None:
    place = Place()

    def choose(lines: Sequence[bytes]) -> None:
        if b"2" in lines:
            raise Refused(Conflict("that is none", remedy="Send a sample"), 422)

    place.answer = choose
    with uploading(place, shelf):
        until(lambda: b"3" in place.has, "the last one has come")

    assert place.has == [b"1", b"3"]
    assert place.gaps == [Gap(since=1.0, until=3.0, why=NOT_WANTED)]
    assert "not wanted" in caplog.text


def test_a_server_that_never_answers_keeps_nobody_from_ending(shelf: Shelf) -> None:
    place, answers, asked = Place(), threading.Event(), threading.Event()

    def never(_: Sequence[bytes]) -> None:
        asked.set()
        answers.wait(60.0)

    place.answer = never
    with uploading(place, shelf):
        assert asked.wait(20.0)
        shelf.add(Kept(4.0, b"4"))
    answers.set()


def test_a_server_with_many_nodes_is_visited_when_it_wants_to_be(shelf: Shelf) -> None:
    place = Place()
    place.again = 1000.0
    upload = SampleUpload(cast(Server, place), HELLO, shelf)

    upload.want(SOON)
    until(lambda: upload.pause > SOON, "it was heard")
    upload.end()

    assert upload.pause == LONGEST_PAUSE
