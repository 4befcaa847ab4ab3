"""Samples wait for a server that has them for good, in a bounded place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tenuto.engines.supervisor.sampling.shelf import AWAY, MOST, MOST_BYTES, Batch, Kept, Shelf
from tenuto.wire.sample import Gap


def sample(at: float, *, size: int = 10, gap: Gap | None = None) -> Kept:
    return Kept(at, b"x" * size, gap)


def a_shelf(*moments: float, most: int = 100) -> Shelf:
    shelf = Shelf(most=most)
    for at in moments:
        shelf.add(sample(at))
    return shelf


def next_of(shelf: Shelf) -> Batch:
    batch = shelf.batch()
    assert batch is not None
    return batch


def moments(batch: Batch) -> list[float]:
    return [one.at for one in batch.samples]


def test_what_was_sent_is_not_sent_again_to_the_same_server() -> None:
    shelf = a_shelf(1.0, 2.0)
    shelf.sent(next_of(shelf), None)
    shelf.add(sample(3.0))

    assert moments(next_of(shelf)) == [3.0]


def test_a_server_that_was_started_again_is_sent_all_that_the_last_one_had_not_for_good() -> None:
    shelf = a_shelf(1.0, 2.0, 3.0)
    shelf.sent(next_of(shelf), 1.0)

    shelf.send_again()

    assert moments(next_of(shelf)) == [2.0, 3.0]


def test_nothing_is_let_go_that_the_present_server_was_not_sent() -> None:
    shelf = a_shelf(1.0, 2.0)
    shelf.sent(next_of(shelf), None)
    shelf.send_again()
    shelf.add(sample(3.0))
    first = shelf.batch(most_bytes=10)
    assert first is not None

    shelf.sent(first, kept=99.0)

    assert moments(next_of(shelf)) == [2.0, 3.0]


def test_one_upload_brings_no_more_than_it_may_but_always_something() -> None:
    shelf = Shelf()
    for at in range(4):
        shelf.add(sample(float(at), size=400))

    some, one = shelf.batch(most_bytes=1000), shelf.batch(most_bytes=1)
    assert some is not None
    assert one is not None
    assert (moments(some), moments(one)) == ([0.0, 1.0], [0.0])


def test_a_gap_travels_with_the_sample_that_ends_it() -> None:
    gap = Gap(since=1.0, until=9.0, why="the sampler was killed by SIGKILL")
    shelf = a_shelf(1.0)
    shelf.add(sample(9.0, gap=gap))

    assert next_of(shelf).gaps == (gap,)


def test_what_has_no_room_becomes_one_gap() -> None:
    shelf = a_shelf(1.0, most=3)
    shelf.sent(next_of(shelf), 1.0)
    for at in range(2, 10):
        shelf.add(sample(float(at)))

    batch = next_of(shelf)
    assert moments(batch) == [7.0, 8.0, 9.0]
    assert batch.gaps == (Gap(since=1.0, until=7.0, why=AWAY),)


def test_a_gap_that_has_no_room_becomes_part_of_the_larger_one() -> None:
    shelf = a_shelf(5.0, most=2)
    shelf.sent(next_of(shelf), 5.0)
    shelf.add(sample(8.0, gap=Gap(since=5.0, until=8.0, why="the sampler hung and was killed")))
    for at in (9.0, 10.0):
        shelf.add(sample(at))

    assert next_of(shelf).gaps == (Gap(since=5.0, until=9.0, why=AWAY),)


def test_what_the_server_has_already_leaves_no_gap_when_it_goes() -> None:
    shelf = a_shelf(1.0, 2.0, most=2)
    shelf.sent(next_of(shelf), None)

    shelf.add(sample(3.0))

    assert next_of(shelf) == Batch((sample(3.0),), end=3)


def test_samples_that_a_server_does_not_want_are_a_gap_up_to_the_next_one() -> None:
    shelf = a_shelf(1.0)
    shelf.sent(next_of(shelf), 1.0)
    shelf.add(sample(2.0))

    shelf.pass_over(next_of(shelf), "the server did not want them")
    assert shelf.batch() is None
    shelf.add(sample(3.0))

    assert next_of(shelf).gaps == (Gap(since=1.0, until=3.0, why="the server did not want them"),)


def test_there_is_room_for_ten_minutes_of_a_large_node() -> None:
    assert MOST >= 600
    assert MOST_BYTES / 600 > 20_000  # 16 GPUs, 128 cores, a hundred processes


class Place:
    """A server that takes samples in, and may forget what it has not for good."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.has: set[float] = set()
        self.safe: set[float] = set()
        self.gaps: set[Gap] = set()

    def take(self, *, safely: bool) -> None:
        if (batch := self.shelf.batch(most_bytes=30)) is None:
            return
        self.has |= set(moments(batch))
        self.gaps |= set(batch.gaps)
        self.safe = set(self.has) if safely else self.safe
        self.shelf.sent(batch, max(self.safe, default=None))

    def crash(self) -> None:
        self.has = set(self.safe)
        self.shelf.send_again()

    def knows_of(self, at: float) -> bool:
        return at in self.has or any(gap.since <= at < gap.until for gap in self.gaps)


def play(place: Place, story: list[str]) -> list[float]:
    """Let a story happen, and everything arrive in the end; returns all samples that there were."""
    now = 0.0
    for what in story:
        if what == "sample":
            now += 1.0
            place.shelf.add(sample(now))
        elif what == "crash":
            place.crash()
        else:
            place.take(safely=what == "safely")
    while place.shelf.batch() is not None:
        place.take(safely=False)
    return [float(at) for at in range(1, int(now) + 1)]


@given(st.lists(st.sampled_from(["sample", "sample", "take", "safely", "crash"]), max_size=60))
def test_servers_may_crash_at_any_moment_and_every_sample_arrives(story: list[str]) -> None:
    place = Place(Shelf())

    assert set(play(place, story)) == place.has


@given(st.lists(st.sampled_from(["sample", "sample", "take", "safely"]), max_size=60))
def test_whatever_has_no_room_arrives_or_is_in_a_gap(story: list[str]) -> None:
    place = Place(Shelf(most=5))

    assert all(place.knows_of(at) for at in play(place, story))
