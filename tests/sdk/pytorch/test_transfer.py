"""Who gets state from whom, and what state is: everything, without pickle."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tenuto.errors import InputInvalid
from tenuto.sdk.pytorch.packing import Tensors, pack, unpack
from tenuto.sdk.pytorch.state import Stateful, TrainingState, capture, copy_of, restore
from tenuto.sdk.pytorch.transfer import Link, chains


def test_receivers_are_spread_over_the_members_with_the_newest_state() -> None:
    assert chains([True, True, False, False], [7, 7, 0, 0]) == (
        Link(None, 2),
        Link(None, 3),
        Link(0, None),
        Link(1, None),
    )
    assert chains([True, False, False], [7, 0, 0]) == (Link(None, 1), Link(0, 2), Link(1, None))
    assert chains([True, True], [7, 8]) == (Link(1, None), Link(None, 0))


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1).filter(
        lambda all_: any(h for h, _ in all_)
    )
)
def test_everybody_without_the_newest_state_gets_it_once(notes: list[tuple[bool, int]]) -> None:
    has_state, steps = [has for has, _ in notes], [step for _, step in notes]

    links = chains(has_state, steps)

    newest = max(step for has, step in notes if has)
    for rank, link in enumerate(links):
        assert (link.before is None) == (has_state[rank] and steps[rank] == newest)
        if link.after is not None:
            assert links[link.after].before == rank


def test_nested_state_survives_as_json_and_tensors() -> None:
    tensors: Tensors = {}
    value = {
        0: {"step": torch.tensor(3.0), "wörter": ("a", None, 1.5)},
        "liste": [np.float64(2.0), np.arange(3)],
    }

    packed = json.loads(json.dumps(pack(value, "x", tensors)))
    found: Any = unpack(packed, tensors)

    assert found[0]["wörter"] == ("a", None, 1.5) and found[0]["step"].item() == 3.0
    assert found["liste"][0] == 2.0 and found["liste"][1].tolist() == [0, 1, 2]


def test_what_cannot_be_moved_as_plain_data_is_refused_by_name() -> None:
    with pytest.raises(InputInvalid, match="a function at scheduler/fn"):
        pack({"fn": a_loop}, "scheduler", {})


def a_loop(seed: int) -> Stateful:
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, betas=(0.8, 0.9))
    return Stateful(model, optimizer, torch.optim.lr_scheduler.MultiStepLR(optimizer, [2, 4]))


def train(loop: Stateful, steps: int) -> float:
    for _ in range(steps):
        loop.optimizer.zero_grad()
        chance = random.random() + np.random.rand()  # noqa: NPY002 - the global states are what travels
        loss = loop.model(torch.rand(4, 3) + chance).pow(2).sum()
        loss.backward()
        loop.optimizer.step()
        loop.scheduler.step()
    return float(loss.detach())


def test_a_fresh_loop_goes_on_exactly_as_the_one_whose_state_it_got() -> None:
    first, other = a_loop(1), a_loop(2)
    train(first, 3)
    kept = copy_of(capture(first, {"ledger": 3}))
    expected = train(first, 3)

    account = restore(other, TrainingState(kept.tensors, json.loads(json.dumps(kept.facts))))

    assert account == {"ledger": 3}
    assert train(other, 3) == expected
    assert other.optimizer.param_groups[0]["lr"] == first.optimizer.param_groups[0]["lr"]


def test_the_state_of_another_model_is_refused_by_name() -> None:
    state = capture(a_loop(1), {})
    state.tensors["model/0.weight"] = torch.zeros(5)

    with pytest.raises(InputInvalid, match=r"model/0\.weight has the shape \(5,\) there and \(3, 3\) here"):
        restore(a_loop(2), state)
