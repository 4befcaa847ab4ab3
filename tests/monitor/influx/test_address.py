"""Where lines go, and how somebody is told what is missing there."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path

import pytest

from tenuto.monitor.influx.address import SecretUnusable, address_of
from tenuto.monitor.influx.answers import Answer, judge
from tenuto.settings import Influx


def test_a_database_has_a_user_with_a_password_that_stands_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "пароль").write_text(" очень: тайно \n", encoding="utf-8")

    address = address_of(
        Influx(url="https://influx:8086/behind/", user="писец", secret_file=str(tmp_path / "пароль"))
    )

    assert address.write == "https://influx:8086/behind/write?db=tenuto&precision=ms"
    kind, told = address.headers()["Authorization"].split()
    assert (kind, b64decode(told).decode()) == ("Basic", "писец:очень: тайно")


def test_a_password_in_the_url_is_used_and_not_shown() -> None:
    address = address_of(Influx(url="http://writer:pass%40word@influx:8086"))

    assert b64decode(address.headers()["Authorization"].split()[1]).decode() == "writer:pass@word"
    assert "word" not in repr(address).replace("password", "")


def test_a_database_that_lets_everybody_in_gets_no_header() -> None:
    assert address_of(Influx(url="http://influx:8086")).headers() == {}
    assert address_of(Influx(url="http://influx:8086", bucket="b")).headers() == {}


@pytest.mark.parametrize("content", [b"", b"two\nlines", b"\xff\xfe", b"a\x00b"])
def test_a_file_without_a_secret_says_so(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    address = address_of(Influx(url="http://i", bucket="b", secret_file=str(tmp_path / "token")))

    with pytest.raises(SecretUnusable, match="token"):
        address.headers()


@pytest.mark.parametrize(
    ("status", "body", "answer", "why"),
    [
        (204, "", Answer.TAKEN, ""),
        (200, "", Answer.TAKEN, ""),
        (400, '{"error": "unable to parse"}', Answer.BAD, "400 unable to parse"),
        (400, '{"error": "partial write: beyond retention policy dropped=12"}', Answer.PARTLY, "400 partial"),
        (422, '{"code": "unprocessable entity", "message": "bad"}', Answer.BAD, "422 bad"),
        (413, "", Answer.BAD, "413 Request Entity Too Large"),
        (408, "", Answer.LATER, "408 Request Timeout"),
        (429, "[1]", Answer.LATER, "429 [1]"),
        (599, "", Answer.LATER, "599 without a word"),
        (401, "<html>" + "x" * 1000, Answer.CLOSED, "401 <html>xxx"),
        (301, "", Answer.CLOSED, "301 Moved Permanently"),
        (418, "", Answer.CLOSED, "418 I'm a Teapot"),
    ],
)
def test_every_answer_means_something(status: int, body: str, answer: Answer, why: str) -> None:
    verdict = judge(status, {}, body)

    assert verdict.answer is answer
    assert verdict.why.startswith(why)
    assert len(verdict.why) < 400


def test_what_a_partial_write_lost_is_counted_and_one_that_does_not_say_lost_one() -> None:
    assert judge(400, {}, '{"error": "partial write: beyond retention dropped=12"}').lost == 12
    assert judge(422, {}, '{"message": "partial write: unable to parse dropped=0"}').lost == 1
    assert judge(400, {}, '{"error": "partial write"}').lost == 1


@pytest.mark.parametrize(("told", "seconds"), [("7", 7.0), ("100000", 300.0), ("soon", None), ("-1", None)])
def test_a_database_may_ask_for_time_within_reason(told: str, seconds: float | None) -> None:
    assert judge(503, {"retry-after": told}, "").after == seconds
