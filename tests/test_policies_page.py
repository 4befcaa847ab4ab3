"""The page about the policies has every policy, and a picture of it that exists."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tenuto.cli.main import app
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


def test_the_pictures_are_those_of_the_page() -> None:
    pictures = sorted((DOCS / "pictures").glob("*.svg"))

    assert {f"pictures/{picture.name}" for picture in pictures} == set(
        re.findall(r"pictures/[\w-]+\.svg", PAGE)
    )


def test_the_pictures_show_as_many_deadlines_met_as_the_demo() -> None:
    """Where this fails, tools/draw-policies has to draw them anew."""
    told = CliRunner().invoke(app, ["lab", "demo", "--json", "--quiet"])

    for row in json.loads(told.stdout):
        picture = (DOCS / "pictures" / f"{row['policy']}.svg").read_text("utf-8")
        assert f"<!-- {row['policy']}: {row['accepted']} of 10 deadlines met -->" in picture
