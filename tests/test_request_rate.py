"""Requests of a node are limited on average and at once, each node for itself."""

from __future__ import annotations

import pytest

from tenuto.errors import Busy
from tenuto.request_rate import RequestRate


def test_a_node_may_send_many_requests_at_once_and_then_so_many_a_second() -> None:
    now = [0.0]
    rate = RequestRate(2.0, 5.0, lambda: now[0])

    def sent(node: str, times: int) -> int:
        """How many of so many requests are let in."""
        for number in range(times):
            try:
                rate.count(node)
            except Busy:
                return number
        return times

    assert sent("a", 10) == 5
    assert sent("b", 3) == 3, "each node counts for itself"
    now[0] = 1.0
    assert sent("a", 10) == 2
    now[0] = 100.0
    assert sent("a", 10) == 5, "no more is saved up"


def test_the_refusal_says_that_it_passes() -> None:
    rate = RequestRate(0.0, 0.0, lambda: 0.0)

    with pytest.raises(Busy) as refused:
        rate.count("a")

    assert refused.value.http_status == 503
