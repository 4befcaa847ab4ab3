"""The page about the states shows the table that the controller goes by."""

from __future__ import annotations

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from tenuto.model.phase import NEXT, Phase, PromiseState

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "states.md").read_text(encoding="utf-8")


def draw_states() -> Any:
    loader = SourceFileLoader("draw_states", str(ROOT / "tools" / "draw-states"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def test_the_diagram_is_that_of_the_table() -> None:
    """Where this fails, tools/draw-states has to draw it anew."""
    assert draw_states().drawn(PAGE) == PAGE


def test_every_arrow_of_the_diagram_is_a_step_of_the_table_and_the_other_way_round() -> None:
    arrows = re.findall(r"^ +([A-Z]+) --> ([A-Z]+)$", PAGE, re.MULTILINE)

    assert {(Phase[before], Phase[after]) for before, after in arrows} == {
        (before, after) for before, following in NEXT.items() for after in following
    }
    assert len(set(arrows)) == len(arrows)


@pytest.mark.parametrize("phase", Phase)
def test_every_state_is_explained(phase: Phase) -> None:
    assert re.search(rf"^\| `{phase.name}` \| \w", PAGE, re.MULTILINE)


@pytest.mark.parametrize("state", PromiseState)
def test_every_state_of_a_promise_is_explained(state: PromiseState) -> None:
    assert re.search(rf"^\| `{state.value}` \| \w", PAGE, re.MULTILINE)
