"""The store's file: not there yet, whole, damaged, or of a newer version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tenuto.doctor.finding import Finding, Status
from tenuto.doctor.store_file import find_store
from tenuto.store.migrate import HEAD
from tenuto.store.open import open_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "склад #1.sqlite"
    open_store(f"sqlite:///{path}").close()
    return path


def look_at(path: Path) -> Finding:
    return find_store("home", path, HEAD)


def test_a_store_that_is_not_made_yet_is_fine(tmp_path: Path) -> None:
    assert look_at(tmp_path / "store.sqlite").status is Status.OK


def test_a_whole_store_tells_its_version_and_is_left_as_it_is(store: Path) -> None:
    before = store.read_bytes()

    found = look_at(store)

    assert found.status is Status.OK
    assert found.told.startswith(f"version {HEAD}, ")
    assert found.told.endswith(", whole")
    assert store.read_bytes() == before


def test_a_damaged_store_is_a_problem(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    content = bytearray(store.read_bytes())
    half = len(content) // 2
    content[half:] = bytes(len(content) - half)
    store.write_bytes(content)

    found = look_at(store)

    assert found.status is Status.PROBLEM
    assert "backup" in found.remedy


def test_what_is_no_store_at_all_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.write_text("Dear diary" * 1000)

    assert look_at(path).status is Status.PROBLEM


def test_a_store_of_a_newer_version_is_a_problem(store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9'")

    found = look_at(store)

    assert found.status is Status.PROBLEM
    assert "Upgrade tenuto" in found.remedy
