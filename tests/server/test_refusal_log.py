"""A flood of refusals becomes few lines of the log."""

from __future__ import annotations

import logging

import pytest

from tenuto.server.refusal_log import MAX_ADDRESSES, QUIET_SECONDS, RefusalLog


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def refusals(clock: Clock, caplog: pytest.LogCaptureFixture) -> RefusalLog:
    caplog.set_level(logging.WARNING)
    return RefusalLog(logging.getLogger("tenuto.clients"), clock)


def test_an_address_gets_one_line_until_it_was_quiet_for_long_enough(
    refusals: RefusalLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(1000):
        refusals.note("192.0.2.1", "slow")
    refusals.note("192.0.2.2", "slow")
    clock.now += QUIET_SECONDS
    refusals.note("192.0.2.1", "slow")

    assert [record.args for record in caplog.records] == [
        ("192.0.2.1", "slow", 0),
        ("192.0.2.2", "slow", 0),
        ("192.0.2.1", "slow", 999),
    ]


def test_many_addresses_take_bounded_memory(
    refusals: RefusalLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(2 * MAX_ADDRESSES):
        refusals.note(str(number), "slow")
    assert len(caplog.records) == MAX_ADDRESSES

    clock.now += QUIET_SECONDS
    refusals.note("another", "slow")
    assert len(caplog.records) == MAX_ADDRESSES + 1
