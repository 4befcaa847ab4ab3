"""Chunks as bytes: whatever is in them is found again, and what is usual takes little room."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenuto.store.series.chunk import Chunk
from tenuto.store.series.codec import Unreadable, decode, encode

NOON = 1_799_971_200.0
GPU = ("utilisation", "memory_used", "memory_total", "power", "power_limit", "temperature", "fan")


@st.composite
def columns(draw: st.DrawFn, length: int) -> list[float]:
    """Values as they are measured, and such as nobody would measure."""
    known = draw(
        st.sampled_from(
            [
                st.floats(allow_nan=True),
                st.floats(width=32),
                st.integers(-(2**60), 2**60).map(float),
                st.integers(0, 100).map(float),
                st.integers(0, 10**6).map(lambda i: i / 1000),
                st.integers(0, 99).map(lambda i: i * 2.0**20),
                st.just(float("nan")),
                st.just(42.0),
            ]
        )
    )
    return draw(
        st.lists(
            known | st.just(float("nan")) if draw(st.booleans()) else known, min_size=length, max_size=length
        )
    )


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    length = draw(st.integers(1, 20))
    names = tuple(draw(st.lists(st.text(max_size=5), max_size=4, unique=True)))
    at = draw(st.lists(st.floats(0, 4e9), min_size=length, max_size=length, unique=True).map(sorted))
    values = np.array([draw(columns(length)) for _ in names], np.float64).reshape(len(names), length)
    return Chunk(np.array(at), names, values)


@settings(max_examples=80, deadline=None)
@given(st.lists(chunks(), max_size=4))
def test_whatever_is_written_is_read_again(written: list[Chunk]) -> None:
    read = decode(encode(written))
    assert len(read) == len(written)
    for before, after in zip(written, read, strict=True):
        assert after.names == before.names
        np.testing.assert_array_equal(after.at, before.at)
        np.testing.assert_array_equal(after.values, before.values)


def a_gpu_minute() -> Chunk:
    chance = np.random.default_rng(7)
    values = [
        chance.integers(90, 101, 60),
        30_000 * 2.0**20 + chance.integers(0, 2, 60) * 2.0**21,
        np.full(60, 85_899_345_920),
        np.round(chance.normal(300, 10, 60), 3),
        np.full(60, 400),
        60 + chance.integers(0, 2, 60),
        np.full(60, np.nan),
    ]
    return Chunk(np.round(NOON + np.arange(60) + chance.uniform(0, 0.003, 60), 3), GPU, np.array(values))


def test_a_minute_of_a_busy_gpu_takes_less_than_a_byte_for_each_value() -> None:
    (payload,) = encode([a_gpu_minute()])
    assert len(payload) < 60 * len(GPU)


def test_a_minute_of_a_gpu_that_does_nothing_takes_next_to_nothing() -> None:
    idle = Chunk(NOON + np.arange(60.0), GPU, np.zeros((len(GPU), 60)))
    (payload,) = encode([idle])
    assert len(payload) < 60


def test_counters_that_run_evenly_take_next_to_nothing() -> None:
    step = 1e6 + 10 * np.arange(60.0)
    (payload,) = encode([Chunk(NOON + np.arange(60.0), ("step",), step[None])])
    assert len(payload) < 80


def test_bytes_of_a_format_of_the_future_are_not_guessed_at() -> None:
    (payload,) = encode([a_gpu_minute()])
    with pytest.raises(Unreadable, match="format 09"):
        decode([b"\x09" + payload[1:]])
