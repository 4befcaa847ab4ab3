"""Five lines make an ordinary PyTorch script elastic; no example needs more, and the documentation shows them."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from tenuto.wire.job_file import read_jobs

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
TRAINED = ("mlp", "transformer", "resnet")


def difference(example: str) -> list[str]:
    """What must be typed and taken away to make plain.py elastic."""
    plain, elastic = (
        (EXAMPLES / example / name).read_text().splitlines() for name in ("plain.py", "train.py")
    )
    lines = difflib.unified_diff(plain, elastic, n=0, lineterm="")
    return [line for line in lines if re.match(r"[+-](?![+-])", line)]


@pytest.mark.parametrize("example", TRAINED)
def test_no_more_than_five_lines_are_new_or_changed(example: str) -> None:
    typed = [line for line in difference(example) if line.startswith("+")]

    assert 0 < len(typed) <= 5, typed


@pytest.mark.parametrize("example", TRAINED)
def test_the_plain_script_knows_nothing_of_tenuto(example: str) -> None:
    assert "tenuto" not in (EXAMPLES / example / "plain.py").read_text()


@pytest.mark.parametrize("example", TRAINED)
def test_the_documentation_shows_the_difference(example: str) -> None:
    shown = re.findall(
        r"^```diff\n(.*?)^```$", (ROOT / "docs" / "sdk.md").read_text(), re.MULTILINE | re.DOTALL
    )

    lines = [[line.strip() for line in block.splitlines() if line[:1] in "+-"] for block in shown]
    assert [line.strip() for line in difference(example)] in lines


@pytest.mark.parametrize("example", TRAINED)
def test_its_job_rescales_in_place(example: str) -> None:
    [job] = read_jobs(str(EXAMPLES / example / "job.yaml"))

    assert job.checked().values["strategy"] == "allreduce"
