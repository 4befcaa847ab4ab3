"""docs/page.md: names every page, and its pictures are there and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto.dashboard.frame import NAVIGATION, Entry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "page.md").read_text(encoding="utf-8")
SMALL = 250_000
"""Bytes."""


@pytest.mark.parametrize("entry", NAVIGATION, ids=lambda entry: entry.label)
def test_every_page_of_the_navigation_is_told_of(entry: Entry) -> None:
    assert re.search(rf"^\| {re.escape(entry.label)}\b", PAGE, re.MULTILINE)


def test_pictures_are_there_and_small() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = {f"docs/{path}" for path in re.findall(r"\]\((img/[\w-]+\.png)\)", PAGE)}
    shown |= set(re.findall(r"\]\((docs/img/[\w-]+\.png)\)", readme))

    there = {str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "img").glob("*.png")}
    assert shown == there
    assert [path for path in there if (ROOT / path).stat().st_size > SMALL] == []
