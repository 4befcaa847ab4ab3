"""An order that nobody writes down."""

from __future__ import annotations

from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.sdk.pytorch.order import Order


@given(samples=st.integers(1, 9000), seed=st.integers(0, 2**63 - 1), epoch=st.integers(0, 50))
def test_an_epoch_has_every_sample_once(samples: int, seed: int, epoch: int) -> None:
    assert sorted(Order(samples, seed).indices(epoch, 0, samples)) == list(range(samples))


@given(start=st.integers(0, 20_000), size=st.integers(0, 6000), before=st.integers(0, 20_000))
def test_what_was_looked_at_before_makes_no_difference(start: int, size: int, before: int) -> None:
    stop, used = min(start + size, 20_000), Order(20_000, 3)
    used.indices(1, before, min(before + 50, 20_000))

    assert used.indices(1, start, stop) == Order(20_000, 3).indices(1, start, stop)


def test_seed_and_epoch_make_another_order() -> None:
    orders = [tuple(Order(1000, seed).indices(epoch, 0, 1000)) for seed in range(5) for epoch in range(5)]

    assert len(set(orders)) == 25
    assert tuple(range(1000)) not in orders


@pytest.mark.parametrize("samples", [96, 1000, 60_000, 1 << 24])
def test_every_sample_is_as_likely_everywhere(samples: int) -> None:
    found = [Order(samples, 7).indices(epoch, 0, 2) for epoch in range(2000)]
    middle, scatter = (samples - 1) / 2, samples / 12**0.5

    first, second = ([pair[place] for pair in found] for place in range(2))
    product = mean((a - middle) * (b - middle) for a, b in found)

    # Five times the standard error of a mean of 2,000.
    assert abs(mean(first) - middle) < 5 * scatter / 2000**0.5
    assert abs(mean(second) - middle) < 5 * scatter / 2000**0.5
    assert abs(product) < 5 * scatter**2 / 2000**0.5


def test_a_dataset_may_have_more_samples_than_memory() -> None:
    order = Order(1 << 50, 1)

    found = order.indices(0, 1 << 49, (1 << 49) + 100)

    assert len(set(found)) == 100
    assert max(found) < 1 << 50
