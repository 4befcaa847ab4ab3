"""The wrapper that a training loop holds: as the module in it, but for the weight of gradients."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass

import torch
from torch import nn

from tenuto.sdk.pytorch.model import ElasticModel
from tenuto.sdk.pytorch.step import Step


@dataclass
class Answer:
    values: torch.Tensor
    more: tuple[torch.Tensor, ...]


class Linear(nn.Linear):
    greeting = "grüß dich"

    def forward(self, input: torch.Tensor) -> Answer:  # type: ignore[override]  # noqa: A002 - as torch names it
        values = super().forward(input)
        return Answer(values, (values * 2,))


def a_model() -> tuple[ElasticModel, Linear, Step]:
    module, step = Linear(2, 1), Step()
    return ElasticModel(module, step), module, step


def test_it_has_the_names_the_modes_and_the_attributes_of_the_module() -> None:
    model, module, _ = a_model()

    assert model.state_dict().keys() == module.state_dict().keys() == {"weight", "bias"}
    assert [name for name, _ in model.named_parameters()] == ["weight", "bias"]
    assert list(map(id, model.parameters())) == list(map(id, module.parameters()))
    assert model.weight is module.weight and model.greeting == "grüß dich" and model.in_features == 2
    model.eval()
    assert (model.training, module.training) == (False, False)
    model.train()
    assert (model.training, module.training) == (True, True)
    assert model.to(torch.float64).weight.dtype == module.weight.dtype == torch.float64
    model.greeting = "servus"
    assert module.greeting == "servus"
    model.load_state_dict({"weight": torch.ones(1, 2), "bias": torch.zeros(1)})
    assert module.weight.sum() == 2
    assert repr(model) == repr(module)


def test_a_copy_of_it_and_what_is_pickled_is_the_bare_module() -> None:
    model, _, _ = a_model()

    copied: object = copy.deepcopy(model)
    assert type(copied) is Linear
    assert type(pickle.loads(pickle.dumps(model))) is Linear


def test_gradients_of_all_outputs_have_the_weight_of_the_piece_in_a_step_and_only_there() -> None:
    model, module, step = a_model()
    x = torch.ones(1, 2)
    step.begin(0.25, is_last=True, is_first=True)

    answer = model(x)
    (answer.values.sum() + answer.more[0].sum()).backward()

    assert module.bias.grad is not None and module.bias.grad.item() == 0.25 * 3
    step.is_under_way = False
    module.zero_grad()
    model(x).values.sum().backward()
    assert module.bias.grad is not None and module.bias.grad.item() == 1


def test_evaluating_in_the_middle_of_a_step_is_not_weighted() -> None:
    model, module, step = a_model()
    step.begin(0.25, is_last=True, is_first=True)

    with torch.no_grad():
        answer = model(torch.ones(1, 2))

    assert not answer.values.requires_grad
    assert answer.values.item() == module(torch.ones(1, 2)).values.item()
