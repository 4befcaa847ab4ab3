"""Which subjects there are, of those in the database and those that are not in it yet."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select, tuple_

from tenuto.model.series import Subject
from tenuto.store.driver import Driver
from tenuto.store.series import tables

_s = tables.subjects.c


def list_subjects(
    driver: Driver, pending: Iterable[Subject], like: Subject, after: Subject | None, limit: int
) -> list[Subject]:
    """Subjects in order: of a kind, of a name unless it is empty, whose part begins so; those after one of them."""
    stored = _stored(driver, like, after, limit)
    fresh = (one for one in pending if _is_like(one, like) and (after is None or one > after))
    return sorted({*stored, *fresh})[:limit]


def _is_like(one: Subject, like: Subject) -> bool:
    return one.kind == like.kind and like.name in ("", one.name) and one.part.startswith(like.part)


def _stored(driver: Driver, like: Subject, after: Subject | None, limit: int) -> list[Subject]:
    found = select(_s.kind, _s.name, _s.part).where(_s.kind == like.kind)
    if like.name:
        found = found.where(_s.name == like.name)
    if like.part:
        found = found.where(_s.part.startswith(like.part, autoescape=True))
    if after is not None:
        found = found.where(tuple_(_s.kind, _s.name, _s.part) > (after.kind, after.name, after.part))
    found = found.order_by(_s.kind, _s.name, _s.part).limit(limit)
    return [Subject(*row) for row in driver.connection.execute(found)]
