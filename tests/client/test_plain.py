"""The client: our errors from the wire, and no request that counts twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tenuto.client import ask
from tenuto.client.ask import error_of
from tenuto.client.plain import PlainClient
from tenuto.errors import (
    Conflict,
    Declined,
    InputInvalid,
    NotAllowed,
    NotFound,
    ServerFailed,
    TenutoError,
    Unreachable,
)
from tenuto.store.base import StoreUnavailable

Answer = Callable[[httpx.Request], httpx.Response]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask, "FIRST_PAUSE", 0.0001)
    monkeypatch.setattr(ask, "LONGEST_PAUSE", 0.0001)


class Line:
    """A line to a server that fails as often as a test wants before it answers."""

    def __init__(self, *trouble: Exception | int) -> None:
        self.trouble = list(trouble)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if not self.trouble:
            return httpx.Response(200, json={"id": "k1"})
        now = self.trouble.pop(0)
        if isinstance(now, Exception):
            raise now
        return httpx.Response(
            now, json={"code": "store_unavailable", "message": "full", "remedy": "Make room"}
        )

    def client(self, **options: Any) -> PlainClient:
        return PlainClient(
            "http://here", "secret", httpx.MockTransport(self), **{"patience": 10.0, **options}
        )


REFUSED = httpx.ConnectError("refused")
LOST = httpx.ReadError("reset")


def test_every_request_carries_the_token() -> None:
    line = Line()

    line.client().jobs(state=["queued", "held"], owner=None, text="")

    [request] = line.asked
    assert request.headers["Authorization"] == "Bearer secret"
    assert str(request.url) == "http://here/api/v1/jobs?state=queued&state=held"


@pytest.mark.parametrize("token", ["sécret", "secret\nX-Other: 1", "токен"])
def test_what_can_be_no_token_is_not_sent(token: str) -> None:
    with pytest.raises(NotAllowed, match="Copy it once more"):
        PlainClient("http://here", token)


def test_names_of_jobs_are_quoted() -> None:
    line = Line()

    line.client().job("a/b ?학습")

    assert line.asked[0].url.raw_path == b"/api/v1/jobs/a%2Fb%20%3F%ED%95%99%EC%8A%B5"


def test_a_submission_that_is_repeated_has_the_same_key() -> None:
    line = Line(REFUSED, LOST, 503)

    assert line.client().submit({"name": "a"}) == {"id": "k1"}

    keys = {request.headers["Idempotency-Key"] for request in line.asked}
    assert len(line.asked) == 4
    assert len(keys) == 1


def test_two_submissions_have_two_keys() -> None:
    line = Line()
    client = line.client()

    client.submit({"name": "a"})
    client.submit({"name": "a"})

    assert len({request.headers["Idempotency-Key"] for request in line.asked}) == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.act("k1", "cancel"),
        lambda client: client.scale("k1", {"delta": 1}),
        lambda client: client.delete("k1"),
    ],
)
def test_what_may_have_been_done_is_not_asked_for_again(ask: Callable[[PlainClient], Any]) -> None:
    line = Line(REFUSED, LOST)

    with pytest.raises(Unreachable, match=r"It may have been done: look with tenuto show") as caught:
        ask(line.client())

    assert caught.value.code == "answer_lost"
    assert len(line.asked) == 2


def test_a_size_may_be_asked_for_again() -> None:
    line = Line(LOST)

    line.client().scale("k1", {"workers": 4})

    assert len(line.asked) == 2


def test_patience_has_an_end() -> None:
    line = Line(*[REFUSED] * 1000)

    with pytest.raises(Unreachable, match="no server answers at http://here"):
        line.client(patience=0.01).jobs()


def test_a_server_that_moved_is_found_again() -> None:
    line = Line(REFUSED)

    line.client(find_again=lambda: ("http://there", "other")).jobs()

    assert line.asked[1].url.host == "there"
    assert line.asked[1].headers["Authorization"] == "Bearer other"


def test_a_server_that_is_away_is_waited_for() -> None:
    def gone() -> tuple[str, str]:
        raise Unreachable("no server runs here")

    line = Line(REFUSED, REFUSED)

    line.client(find_again=gone).jobs()

    assert len(line.asked) == 3


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "broken_json", InputInvalid),
        (401, "not_allowed", NotAllowed),
        (404, "not_found", NotFound),
        (409, "would_break_promises", Conflict),
        (409, "declined", Declined),
        (413, "too_large", InputInvalid),
        (422, "input_invalid", InputInvalid),
        (500, "internal", ServerFailed),
        (503, "store_unavailable", StoreUnavailable),
    ],
)
def test_an_error_comes_back_as_it_was_raised(status: int, code: str, kind: type[TenutoError]) -> None:
    told = {"code": code, "message": "It is so", "remedy": "Do this", "field": "workers"}

    error = error_of(status, told, "http://here")

    assert type(error) is kind
    assert str(error) == "It is so. Do this"
    assert kind is StoreUnavailable or error.field == "workers"


def test_what_is_no_tenuto_server_is_told_so() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(404, text="<html>"))

    with pytest.raises(ServerFailed, match="Is this the address of a tenuto server") as caught:
        PlainClient("http://here", "t", page).jobs()

    assert caught.value.exit_code == 70


def test_wishes_that_the_server_looks_ahead_for_are_waited_for_while_it_compiles() -> None:
    line = Line()
    client = line.client()
    client.cluster()
    client.scale("k1", {"workers": 2})
    client.change("k1", {"deadline": "+1h"})
    client.set_policy({"name": "edf"})

    quick, *patient = [request.extensions["timeout"]["read"] for request in line.asked]
    assert quick <= 60
    assert all(seconds >= 300 for seconds in patient)
