"""When a store looks for the commits of others."""

from __future__ import annotations

from tenuto.store.bell import SURELY, Glance


def test_a_database_without_a_stamp_is_always_asked() -> None:
    glance = Glance(None)

    assert all(glance.is_worth_asking() for _ in range(10))


def test_a_database_is_asked_after_a_change_of_its_stamp_and_once_more() -> None:
    stamps = iter([(1,), (1,), (1,), (1,), (2,), (2,), (2,)])
    glance = Glance(lambda: next(stamps))

    assert [glance.is_worth_asking() for _ in range(7)] == [True, True, False, False, True, True, False]


def test_a_database_that_seems_quiet_is_asked_now_and_then_all_the_same() -> None:
    glance = Glance(lambda: "always the same")

    assert sum(glance.is_worth_asking() for _ in range(3 * SURELY)) == 2 + 2
