"""People see that a node was not watched for a while, once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.engines.real_nodes import until

from tenuto.cli.gap_teller import KIND, QUIET, RESTARTED, GapTeller
from tenuto.model.event import Event
from tenuto.model.series import NODE, Points, Subject
from tenuto.store.base import EventQuery
from tenuto.store.memory import MemoryStore
from tenuto.store.series.memory import MemorySeries
from tenuto.wire.node import Samples
from tenuto.wire.sample import Gap, NodeSample

NAME = "węzeł-노드"
NOW = 1_700_000_000.0
KILLED = "the sampler was killed by SIGKILL"


class Office:
    """A teller with a store, a history and a clock in the hand."""

    def __init__(self) -> None:
        self.now = NOW
        self.store, self.series = MemoryStore(), MemorySeries()
        self.teller = self.another_teller()

    def another_teller(self) -> GapTeller:
        return GapTeller(self.store, self.series, period=1.0, clock=lambda: self.now)

    def events(self) -> list[Event]:
        return self.store.read(lambda tx: tx.events(EventQuery(kind=KIND, node=NAME)))

    def until_told(self, count: int) -> list[Event]:
        until(lambda: len(self.events()) == count, f"{count} gaps are told")
        return self.events()

    def has_samples(self, *moments: float) -> None:
        self.series.add(
            [Points(subject=Subject(NODE, NAME), at=moments, values={"cpu": [1.0] * len(moments)})]
        )

    def hear(self, session: str, *moments: float, gaps: tuple[Gap, ...] = ()) -> None:
        samples = tuple(NodeSample(at=at) for at in moments)
        self.teller.hear(Samples(node=NAME, session=session, samples=samples, gaps=gaps))
        self.has_samples(*moments)


@pytest.fixture
def office() -> Iterator[Office]:
    one = Office()
    one.teller.start()
    yield one
    one.teller.stop()


def gap(since: float, until: float) -> Gap:
    return Gap(since=NOW + since, until=NOW + until, why=KILLED)


def test_a_gap_becomes_an_event_of_the_node(office: Office) -> None:
    office.hear("s", NOW + 3, gaps=(gap(0.0, 3.0),))

    (event,) = office.until_told(1)
    assert (event.node, event.actor) == (NAME, f"node:{NAME}")
    assert event.reason == f"no samples for 3.0 s: {KILLED}"
    assert (event.data["since"], event.data["until"]) == (NOW, NOW + 3)


def test_a_gap_that_comes_again_is_told_once_also_by_the_next_server(office: Office) -> None:
    office.teller.tell(NAME, gap(0.0, 3.0))
    office.now += 2 * QUIET

    office.teller.tell(NAME, gap(0.0, 3.0))
    office.another_teller().tell(NAME, gap(0.0, 3.0))

    assert len(office.events()) == 1


def test_many_gaps_are_counted_not_told_one_by_one(office: Office) -> None:
    for begin in range(0, 30, 10):
        office.teller.tell(NAME, gap(begin, begin + 5))
    assert len(office.events()) == 1

    office.now += QUIET
    office.teller.tell(NAME, gap(QUIET, QUIET + 1))

    _, last = office.events()
    assert last.reason == f"no samples for 1.0 s: {KILLED}, and 2 other times since this was last told"


def test_what_is_missing_between_two_supervisors_is_found_in_the_history(office: Office) -> None:
    office.hear("first", NOW, NOW + 1)

    office.hear("second", NOW + 30, NOW + 31)

    office.until_told(1)
    assert office.series.gaps(NAME, 0.0, NOW + 99) == [Gap(since=NOW + 1, until=NOW + 30, why=RESTARTED)]


def test_a_gap_is_found_also_if_the_server_was_started_again_meanwhile(office: Office) -> None:
    office.has_samples(NOW - 40_000.0)

    office.hear("second", NOW)

    (event,) = office.until_told(1)
    assert event.data["since"] == NOW - 40_000.0


def test_a_server_that_was_started_again_finds_no_gap_where_there_is_none(office: Office) -> None:
    office.has_samples(NOW - 2, NOW - 1)

    office.hear("first", NOW, NOW + 1)
    office.hear("first", NOW + 2, gaps=(gap(50.0, 60.0),))

    office.until_told(1)
    assert office.series.gaps(NAME, 0.0, NOW + 49) == []


def test_a_node_that_was_never_seen_before_has_no_gap(office: Office) -> None:
    office.hear("first", NOW)
    office.hear("first", NOW + 1, gaps=(gap(1.0, 9.0),))

    (event,) = office.until_told(1)
    assert KILLED in event.reason
