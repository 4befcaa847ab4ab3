"""Numbers reach the database whatever it does, and nobody waits for it."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.monitor.influx.database import WELL, Database, Posted, Reply, database, in_turn

from tenuto.model.series import CLUSTER, NODE, Points, Subject
from tenuto.monitor.facts import Pushing
from tenuto.monitor.influx import buffer
from tenuto.monitor.influx.address import address_of
from tenuto.monitor.influx.pusher import Pace, Pusher
from tenuto.settings import Influx
from tenuto.wire.sample import NodeSample

QUICK = Pace(every=0.01, first=0.01, most=0.05, farewell=5.0)
ROOM = 1 << 20


@pytest.fixture
def influx() -> Iterator[Database]:
    with database() as made:
        yield made


class Told:
    """A pusher that runs, and what it is told: numbered moments of the cluster."""

    def __init__(self, settings: Influx, room: int = ROOM, pace: Pace = QUICK) -> None:
        self.pusher = Pusher(address_of(settings), room, lambda job: job, pace)
        self.lines: list[str] = []

    def __enter__(self) -> Told:
        self.pusher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.pusher.stop()

    def until(self, look: Callable[[Pushing], object]) -> None:
        """Until its health is so, with a guard against never."""
        for _ in range(6000):
            if look(self.pusher.health):
                return
            threading.Event().wait(0.01)
        raise AssertionError(self.pusher.health)

    def tell(self, count: int) -> None:
        first = len(self.lines)
        at = list(range(first, first + count))
        self.lines += [f"tenuto_cluster slots={float(moment)!r} {moment * 1000}" for moment in at]
        self.pusher.take_points(
            [Points(subject=Subject(CLUSTER), at=at, values={"slots": [float(moment) for moment in at]})]
        )


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_samples_and_points_arrive_once_and_nodes_only_as_samples(influx: Database) -> None:
    with Told(influx.settings) as told:
        told.tell(2)
        told.pusher.take_samples("узел", [NodeSample(at=1.0, cpu=50.0)])
        told.pusher.take_points([Points(subject=Subject(NODE, "узел"), at=[1.0], values={"cpu": [50.0]})])
        influx.waits_for(lambda: len(influx.has) == 3)

    assert sorted(influx.has) == sorted([*told.lines, "cpu,cpu=cpu-total,host=узел value=50.0 1000"])
    assert {posted.path for posted in influx.requests} == {
        "/write?db=%D0%B4%D0%B0%D0%BD%D0%BD%D1%8B%D0%B5&precision=ms"
    }
    health = told.pusher.health
    assert (health.written, health.dropped, health.failures, health.buffered) == (3, 0, 0, 0)


@pytest.mark.parametrize(
    "failure", [Reply(0), Reply(500), Reply(503), Reply(429, headers={"Retry-After": "0"})]
)
def test_whatever_passes_is_waited_for_and_said_once(
    influx: Database, failure: Reply, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    influx.mood = in_turn([failure] * 4)
    with Told(influx.settings) as told:
        told.tell(3)
        influx.waits_for(lambda: len(influx.has) >= 3)
        told.tell(1)
        influx.waits_for(lambda: len(influx.has) >= 4)

    assert influx.has == told.lines
    assert told.pusher.health.failures == 4
    said = [record.getMessage() for record in caplog.records if record.name.startswith("tenuto")]
    assert [message.partition(" at ")[0] for message in said] == ["the database 'данные'"] * 2
    assert "takes nothing" in said[0]
    assert "takes numbers again" in said[1]


def test_a_database_that_asks_for_time_gets_it(influx: Database) -> None:
    influx.mood = in_turn([Reply(503, headers={"Retry-After": "3600"})])
    with Told(influx.settings) as told:
        told.tell(1)
        influx.waits_for(lambda: len(influx.requests) == 1)
        assert not threading.Event().wait(0.3), "a third of a second is twenty attempts without it"
        assert len(influx.requests) == 1

    assert influx.has == told.lines, "at the end it is tried once more"


def test_a_database_that_is_not_there_is_said_once_and_what_it_lacks_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        nobody = f"http://127.0.0.1:{held.getsockname()[1]}"
    with Told(Influx(url=nobody)) as told:
        told.tell(9)
        told.until(lambda health: health.failures == 3)

    begun, ended = warnings_in(caplog)
    assert f"{nobody} takes nothing: " in begun
    assert f"{len(told.lines)} lines did not reach" in ended
    assert told.pusher.health.written == 0


@pytest.mark.parametrize(
    ("reply", "remedy"),
    [
        (Reply(401, '{"error":"authorization failed"}'), "influx.secret_file"),
        (Reply(403), "influx.user"),
        (Reply(404, '{"error":"database not found: \\"tenuto\\""}'), "CREATE DATABASE"),
        (Reply(405), "look at influx.url"),
        (Reply(302, headers={"Location": "https://elsewhere"}), "sends us to https://elsewhere"),
    ],
)
def test_what_somebody_must_change_is_said_once_with_the_remedy_and_tried_again(
    influx: Database, reply: Reply, remedy: str, caplog: pytest.LogCaptureFixture
) -> None:
    influx.mood = in_turn([reply] * 3)
    with Told(influx.settings) as told:
        told.tell(5)
        influx.waits_for(lambda: len(influx.has) == 5)

    assert influx.has == told.lines
    (said,) = warnings_in(caplog)
    assert remedy in said
    assert str(reply.status) in said


def refuses(*bad: str) -> Reply:
    return Reply(400, json.dumps({"error": f"unable to parse '{bad[0]}': bad timestamp"}))


def test_one_bad_line_among_thousands_is_found_and_the_others_arrive(
    influx: Database, caplog: pytest.LogCaptureFixture
) -> None:
    bad = "tenuto_cluster slots=1234.0 1234000"
    influx.mood = lambda posted: refuses(bad) if bad in posted.lines else WELL
    with Told(influx.settings) as told:
        told.tell(3000)
        influx.waits_for(lambda: len(influx.has) == 2999)
        influx.waits_for(lambda: len(influx.requests[-1].lines) > 0)

    assert influx.has == [line for line in told.lines if line != bad]
    assert (told.pusher.health.written, told.pusher.health.dropped) == (2999, 1)
    (said,) = warnings_in(caplog)
    assert "bad timestamp" in said


def test_nothing_but_bad_lines_costs_a_bounded_number_of_requests(
    influx: Database, caplog: pytest.LogCaptureFixture
) -> None:
    influx.mood = lambda posted: refuses(*posted.lines)
    with Told(influx.settings) as told:
        told.tell(1000)
        told.until(lambda health: health.dropped == 1000)

    assert len(influx.requests) <= 64
    assert told.pusher.health.written == 0
    assert len(warnings_in(caplog)) == 1


def test_a_partial_write_is_not_written_again(influx: Database, caplog: pytest.LogCaptureFixture) -> None:
    conflict = {"error": 'partial write: field type conflict: input field "slots" is type float dropped=2'}
    influx.mood = in_turn([Reply(400, json.dumps(conflict)), Reply(400, json.dumps(conflict))])
    with Told(influx.settings) as told:
        told.tell(10)
        influx.waits_for(lambda: len(influx.requests) == 1)
        told.tell(10)
        influx.waits_for(lambda: len(influx.requests) == 2)

    assert len(influx.requests) == 2
    assert (told.pusher.health.written, told.pusher.health.dropped) == (16, 4)
    (said,) = warnings_in(caplog)
    assert "field type conflict" in said


def test_while_it_is_away_the_newest_lines_are_kept_within_bounds(
    influx: Database, caplog: pytest.LogCaptureFixture
) -> None:
    room, back = 100_000, threading.Event()
    influx.mood = lambda _: WELL if back.is_set() else Reply(503)
    with Told(influx.settings, room) as told:
        most = 0
        for _ in range(20):
            told.tell(5_000)
            most = max(most, told.pusher.health.buffered)
        half = len(told.lines) // 2
        told.until(lambda health: health.dropped >= half)
        influx.waits_for(lambda: len(influx.requests) > 0)
        back.set()
        last = told.lines[-1]
        influx.waits_for(lambda: bool(influx.has) and influx.has[-1] == last)

    dropped = told.pusher.health.dropped
    assert most <= room + buffer.BATCH_BYTES
    moments = [int(line.rpartition(" ")[2]) for line in influx.has]
    assert moments == sorted(set(moments)), "each once, and in their order"
    oldest = [moment for moment in moments if moment < 1000 * half]
    assert len(oldest) <= buffer.BATCH_LINES, "the oldest went, but for those that were on their way"
    assert len(influx.has) + dropped == len(told.lines)
    full, *lacks = (message for message in warnings_in(caplog) if "takes nothing" not in message)
    assert "is full" in full
    told_of = [int(number) for message in lacks for number in re.findall(r"lacks (\d+) lines", message)]
    assert sum(told_of) == dropped


def test_whoever_tells_something_never_waits_for_a_database_that_hangs(influx: Database) -> None:
    goes_on = threading.Event()

    def hangs(_: Posted) -> Reply:
        goes_on.wait(60)
        return WELL

    influx.mood = hangs
    with Told(influx.settings) as told:
        told.tell(1)
        for _ in range(100):
            told.tell(10)  # in this very thread
        assert not influx.has
        goes_on.set()
        influx.waits_for(lambda: len(influx.has) == 1001)

    assert influx.has == told.lines


def test_the_end_sends_what_is_left_but_does_not_wait_for_ever(
    influx: Database, caplog: pytest.LogCaptureFixture
) -> None:
    with Told(influx.settings, pace=Pace(every=3600)) as told:
        told.tell(7)
    assert influx.has == told.lines

    arrived, goes_on = threading.Event(), threading.Event()

    def hangs(_: Posted) -> Reply:
        arrived.set()
        goes_on.wait(60)
        return WELL

    influx.mood = hangs
    with Told(influx.settings, pace=Pace(every=0.01, farewell=0.05)) as late:
        late.tell(6)
        assert arrived.wait(60)
    goes_on.set()
    assert "6 lines did not reach" in warnings_in(caplog)[-1]


def test_a_secret_is_read_anew_each_time_and_never_logged(
    influx: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = tmp_path / "ключ"
    settings = Influx(
        url=influx.url, bucket="b 1", org="організація", secret_file=str(secret), database="unused"
    )
    influx.mood = lambda posted: (
        WELL if posted.headers.get("Authorization") == "Token new-secret" else Reply(401)
    )
    with Told(settings) as told:
        told.tell(1)
        told.until(lambda health: "cannot be read" in health.trouble)
        secret.write_text("old-secret\n")
        influx.waits_for(lambda: len(influx.requests) > 0)
        secret.write_text("new-secret\n")
        influx.waits_for(lambda: influx.has == told.lines)

    assert influx.requests[-1].path.startswith("/api/v2/write?org=%D0%BE")
    assert influx.requests[-1].path.endswith("&bucket=b+1&precision=ms")
    assert "-secret" not in caplog.text
