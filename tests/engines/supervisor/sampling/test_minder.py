"""When a sampler is started and killed, and what gaps that makes, by a clock in the hand."""

from __future__ import annotations

import math

from tenuto.engines.supervisor.sampling.minder import (
    FIRST_PAUSE,
    HUNG,
    LATE,
    LONGEST_PAUSE,
    OFF,
    PATIENCE,
    SETTLED,
    START_UP,
    Act,
    Minder,
)
from tenuto.wire.sample import Gap

KILLED = "the sampler was killed by SIGKILL"
EPOCH = 1_700_000_000.0
"""What the node's clock shows when the one in the hand shows 0."""


class Hand:
    """A clock in the hand, and a sampler that does as the minder wants."""

    def __init__(self, every: float = 1.0) -> None:
        self.now = 0.0
        self.minder = Minder()
        self.minder.changed(every, self.now)

    def act(self) -> Act:
        return self.minder.due(self.now)[0]

    def start(self) -> None:
        assert self.act() is Act.START
        self.minder.started(self.now)

    def sample(self, after: float = 1.0) -> Gap | None:
        self.now += after
        return self.minder.sampled(EPOCH + self.now, self.now)

    def die(self, after: float = 0.0) -> None:
        self.now += after
        self.minder.ended(KILLED, self.now)

    def pause(self) -> float:
        """Seconds until the next start."""
        act, again = self.minder.due(self.now)
        assert act is Act.REST
        return again - self.now


def running(every: float = 1.0) -> Hand:
    """A sampler that has told one sample."""
    hand = Hand(every)
    hand.start()
    assert hand.sample() is None, "nobody knows what was before the first sample"
    return hand


def test_nothing_is_started_until_samples_are_wanted() -> None:
    assert Minder().due(0.0) == (Act.REST, math.inf)
    assert Hand().act() is Act.START


def test_a_sampler_that_keeps_its_period_is_left_alone() -> None:
    hand = running()

    for _ in range(1000):
        assert hand.sample() is None
        assert hand.act() is Act.REST


def test_a_sampler_that_was_killed_is_started_again_and_the_gap_is_told() -> None:
    hand = running()
    hand.sample()

    hand.die(after=0.5)
    hand.now += hand.pause()
    hand.start()

    assert hand.sample(0.3) == Gap(since=EPOCH + 2, until=EPOCH + 2.8 + FIRST_PAUSE, why=KILLED)
    assert hand.sample() is None, "a gap is told once"


def test_a_sampler_that_tells_nothing_any_more_is_killed_and_the_gap_says_so() -> None:
    hand = running()

    hand.now += PATIENCE
    assert hand.act() is Act.KILL
    hand.minder.killed()
    assert hand.act() is Act.REST, "a second one is not started beside one that does not go"
    hand.die(after=30.0)
    hand.now += hand.pause()
    hand.start()

    gap = hand.sample()
    assert gap is not None
    assert (gap.since, gap.why) == (EPOCH + 1, HUNG)


def test_a_slow_period_gives_a_sampler_more_time() -> None:
    hand = running(every=60.0)

    hand.now += 200.0
    assert hand.act() is Act.REST
    hand.now += 100.0
    assert hand.act() is Act.KILL


def test_a_driver_may_take_its_time_before_the_first_sample() -> None:
    hand = Hand()
    hand.start()

    hand.now += START_UP
    assert hand.act() is Act.REST
    hand.now += 1.0
    assert hand.act() is Act.KILL


def test_a_sampler_that_dies_again_and_again_is_started_ever_more_rarely() -> None:
    hand = running()
    pauses = []
    for _ in range(12):
        hand.die()
        pauses.append(hand.pause())
        hand.now += pauses[-1]
        hand.start()

    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE


def test_one_that_has_lived_for_long_is_started_again_at_once() -> None:
    hand = running()
    for _ in range(12):
        hand.die()
        hand.now += hand.pause()
        hand.start()

    hand.die(after=SETTLED)

    assert hand.pause() == FIRST_PAUSE


def test_a_long_row_of_deaths_is_one_gap() -> None:
    hand = running()
    for _ in range(3):
        hand.die()
        hand.now += hand.pause()
        hand.start()

    gap = hand.sample()
    assert gap is not None
    assert (gap.since, gap.until) == (EPOCH + 1, EPOCH + hand.now)


def test_another_period_is_waited_for_and_makes_no_gap() -> None:
    hand = running(every=30.0)

    hand.minder.changed(1.0, hand.now + 29.0)
    assert hand.sample(after=29.5) is None
    assert hand.sample() is None
    assert hand.act() is Act.REST


def test_sampling_that_is_switched_off_ends_the_sampler_and_says_so_afterwards() -> None:
    hand = running()

    hand.minder.changed(0.0, hand.now)
    assert hand.act() is Act.KILL
    hand.minder.killed()
    hand.die()
    assert hand.minder.due(hand.now) == (Act.REST, math.inf)

    hand.now += 3600.0
    hand.minder.changed(2.0, hand.now)
    hand.start()
    assert hand.sample() == Gap(since=EPOCH + 1, until=EPOCH + 3602, why=OFF)


def test_a_node_that_slept_has_a_gap_though_its_sampler_lives() -> None:
    hand = running()

    assert hand.sample(after=2.0) is None, "one sample may come late"
    assert hand.sample(after=4.9) == Gap(since=EPOCH + 3, until=EPOCH + 7.9, why=LATE)


def test_a_clock_that_was_set_back_makes_no_gap() -> None:
    hand = running()
    hand.die()

    assert hand.minder.sampled(EPOCH - 3600.0, hand.now) is None
