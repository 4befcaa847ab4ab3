"""The page about the policies has every policy, and a picture of it that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tenuto.policy.registry import POLICIES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "policies.md").read_text("utf-8")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_is_in_the_table_and_has_a_picture(policy: str) -> None:
    assert re.search(rf"^\| \[`{policy}`\]\(#\w+\) \|", PAGE, re.MULTILINE)
    assert f"](pictures/{policy}.svg)" in PAGE


def test_every_alias_is_in_the_table() -> None:
    aliases = {alias for policy in POLICIES.values() for alias in policy.aliases}

    assert {alias for alias in aliases if f"| `{alias}` |" in PAGE} == aliases


def test_the_pictures_are_those_of_the_page_and_show_as_many_deadlines_as_there_are() -> None:
    pictures = sorted((DOCS / "pictures").glob("*.svg"))

    assert {f"pictures/{picture.name}" for picture in pictures} == set(
        re.findall(r"pictures/[\w-]+\.svg", PAGE)
    )
    assert all("of 10 deadlines met" in picture.read_text("utf-8") for picture in pictures)
