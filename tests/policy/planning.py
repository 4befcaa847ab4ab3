"""Jobs and plans as the planner sees them, in a test's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from tests.builders import AJob, Seconds, a_snapshot, free_of_charge

from tenuto.model.columns import Floats, Ints
from tenuto.model.cost import Cost
from tenuto.model.snapshot import worth_using
from tenuto.policy.base import jobs_of, terms_of
from tenuto.policy.book import Book, Jobs, empty_book, write
from tenuto.policy.free import Free
from tenuto.policy.share import NOTHING, Runner, Segments, Terms

Plan = list[tuple[float, int]]
"""From when on how many slots."""


def some_terms(sizes: Sequence[int], cost: Seconds = free_of_charge) -> Terms:
    column = np.array(sizes, dtype=np.int64)
    cost_of = Cost.by_size(column, cost)
    return Terms(column, cost_of.start, cost_of.rescale, cost_of.move)


def a_runner(
    terms: Terms, curve: Mapping[int, float], todo: float, held: int = 0, ready: float = -np.inf
) -> Runner:
    """A job with that much to do; `held` are the slots it has."""
    rate = np.array([curve.get(size, 0.0) for size in terms.sizes.tolist()])
    level = NOTHING if held == 0 else terms.sizes.tolist().index(held)
    return Runner(todo, level, ready, rate, worth_using(rate[np.newaxis])[0])


def free_capacity(*segments: tuple[float, int]) -> Free:
    """Free slots from each moment on."""
    at = np.array([begin for begin, _ in segments])
    slots = np.array([slots for _, slots in segments], dtype=np.int64)
    return Free(at, slots, len(segments))


def room(segments: int = 64) -> Segments:
    return Segments(np.zeros(segments), np.zeros(segments, dtype=np.int64))


def written_in(out: Segments, count: int) -> Plan:
    return list(zip(out.at[:count].tolist(), out.size[:count].tolist(), strict=True))


def planned(jobs: Sequence[AJob], cost: Seconds = free_of_charge, now: float = 0.0) -> tuple[Jobs, Terms]:
    """The columns that planning needs."""
    snap = a_snapshot(jobs=jobs, cost=cost, now=now, nodes=(64,))
    return jobs_of(snap), terms_of(snap)


def a_book(rows: int, plans: Mapping[int, tuple[Plan, float]]) -> Book:
    """Reservations by row: segments and their end."""
    book = empty_book(rows)
    for row, (segments, end) in plans.items():
        at, size = columns(segments)
        book = write(book, row, at, size, end)
    return book


def columns(segments: Plan) -> tuple[Floats, Ints]:
    return np.array([at for at, _ in segments]), np.array([size for _, size in segments], dtype=np.int64)


def in_book(book: Book, row: int) -> tuple[Plan, float]:
    """A row's reservation."""
    first, last = int(book.offset[row]), int(book.offset[row] + book.parts[row])
    plan = list(zip(book.at[first:last].tolist(), book.size[first:last].tolist(), strict=True))
    return plan, float(book.end[row])
