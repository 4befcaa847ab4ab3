"""Addresses of stores: what can be opened, and what is said about the rest."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.records import a_job, adding

from tenuto.errors import InputInvalid
from tenuto.store.base import StoreUnavailable
from tenuto.store.open import open_store


@pytest.mark.parametrize(
    "url",
    [
        "",
        "store.sqlite",
        "mysql://localhost/x",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:///a?max_page_count=many",
        "sqlite:///a?mode=memory",
        "postgresql://user@host:port/x",
    ],
)
def test_an_address_that_means_nothing_is_refused(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputInvalid) as caught:
        open_store(url)
    assert caught.value.field == "store"
    assert caught.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_relative_path_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(open_store("sqlite:///저장소/store.sqlite")) as store:
        store.write(adding(a_job()))
    assert (tmp_path / "저장소" / "store.sqlite").exists()


def test_without_psycopg_the_remedy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputInvalid, match=r"pip install 'tenuto\[postgresql\]'"):
        open_store("postgresql://u@localhost/x")


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("나의 메모\n" * 1000, encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(StoreUnavailable, match="no SQLite database"):
        open_store(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_a_place_where_no_file_can_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match="cannot be made"):
        open_store(f"sqlite:///{tmp_path}/file/store.sqlite")
    with pytest.raises(StoreUnavailable, match="cannot be opened"):
        open_store(f"sqlite:///{tmp_path}")


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    with pytest.raises(StoreUnavailable, match="cannot be reached") as caught:
        open_store("postgresql://u:geheim@127.0.0.1:1/x")
    assert "geheim" not in str(caught.value)
    assert caught.value.remedy
