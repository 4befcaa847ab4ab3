"""All that makes training go on elsewhere as if nothing had happened: model, optimizer, scheduler, chance, account."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from tenuto.errors import InputInvalid
from tenuto.sdk.pytorch.chance import capture_chance, restore_chance
from tenuto.sdk.pytorch.packing import Tensors, pack, unpack

MODEL = "model/"


@dataclass
class TrainingState:
    """One moment between two steps."""

    tensors: Tensors
    """By name. They may be the living ones: whoever keeps them copies them (`copy_of`)."""
    facts: dict[str, Any]
    """JSON: everything that is not a tensor."""

    @property
    def size(self) -> int:
        """Bytes in tensors."""
        return sum(tensor.nbytes for tensor in self.tensors.values())


@dataclass(frozen=True, slots=True)
class Stateful:
    """The objects of a training loop that have state."""

    model: nn.Module
    optimizer: Any
    scheduler: Any = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    """Others with `state_dict` and `load_state_dict`, such as a gradient scaler."""

    def model_tensors(self) -> Tensors:
        """Parameters and buffers, the living ones."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        return {f"{MODEL}{name}": tensor.detach() for name, tensor in named}

    def companions(self) -> dict[str, Any]:
        """Everything with a `state_dict` beside the model."""
        own = {"optimizer": self.optimizer, "scheduler": self.scheduler}
        return {name: found for name, found in own.items() if found is not None} | {
            f"extra/{name}": found for name, found in self.extras.items()
        }


def capture(stateful: Stateful, account: Mapping[str, Any]) -> TrainingState:
    """The living tensors, and the rest as JSON. `account` is what the session keeps: ledger, members."""
    tensors = stateful.model_tensors()
    packed = {name: pack(found.state_dict(), name, tensors) for name, found in stateful.companions().items()}
    chance, facts = capture_chance()
    return TrainingState(tensors | chance, {"companions": packed, "chance": facts, "account": dict(account)})


def restore(stateful: Stateful, state: TrainingState) -> Mapping[str, Any]:
    """Put a state into the objects; the optimizer adopts the tensors. Returns the account."""
    with torch.no_grad():
        for name, tensor in stateful.model_tensors().items():
            told = state.tensors.get(name)
            if told is None or told.shape != tensor.shape:
                raise _unlike(name, told, tensor)
            if told.data_ptr() != tensor.data_ptr():
                tensor.copy_(told)
    for name, found in stateful.companions().items():
        if name in state.facts["companions"]:
            found.load_state_dict(unpack(state.facts["companions"][name], state.tensors))
    restore_chance(state.tensors, state.facts["chance"])
    account: Mapping[str, Any] = state.facts["account"]
    return account


def copy_of(state: TrainingState) -> TrainingState:
    """One that training does not change any more, in main memory."""
    copied = {name: tensor.to("cpu", copy=True).contiguous() for name, tensor in state.tensors.items()}
    return TrainingState(copied, state.facts)


def _unlike(name: str, told: torch.Tensor | None, tensor: torch.Tensor) -> InputInvalid:
    what = (
        "is not in it"
        if told is None
        else f"has the shape {tuple(told.shape)} there and {tuple(tensor.shape)} here"
    )
    return InputInvalid(
        f"the training state is that of another model: {name} {what}",
        remedy="Use the model that the state was made with, or another checkpoint directory",
        field=name,
    )
