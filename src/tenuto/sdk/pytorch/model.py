"""The model as a training loop sees it: the user's own module, whose gradients are those of the whole batch.

The group behind it changes from generation to generation; DistributedDataParallel is made anew for each, and the user
holds only this wrapper, which otherwise behaves as the module in it.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree

from tenuto.sdk.pytorch.group import Group
from tenuto.sdk.pytorch.step import Step

_OWN = frozenset({"_module", "_step", "_ddp", "_find_unused"})
_T = TypeVar("_T")


class _Bucket(Protocol):
    """A part of the gradients, as DDP hands it to a communication hook."""

    def buffer(self) -> torch.Tensor:
        """The gradients, in one piece."""

    def is_last(self) -> bool:
        """Whether none comes after it in this step."""


class ElasticModel(nn.Module):
    """Call it as the module; parameters, buffers, modes, names and everything else are the module's own."""

    def __init__(self, module: nn.Module, step: Step, *, find_unused_parameters: bool = False) -> None:
        super().__init__()
        set_own = object.__setattr__
        set_own(self, "_module", module)
        set_own(self, "_step", step)
        set_own(self, "_ddp", None)
        set_own(self, "_find_unused", find_unused_parameters)
        for shared in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            set_own(self, shared, getattr(module, shared))

    @property
    def module(self) -> nn.Module:
        """The user's own."""
        found: nn.Module = self.__dict__["_module"]
        return found

    def join(self, group: Group) -> None:
        """From now on gradients are those of this group."""
        trains = any(parameter.requires_grad for parameter in self.module.parameters())
        if group.processes is None or not trains:
            return
        ddp = DistributedDataParallel(
            self.module,
            process_group=group.processes,
            init_sync=False,  # all have the same state, or this group would not be
            broadcast_buffers=False,  # would be a collective operation in forward, where no error can be caught
            find_unused_parameters=self.__dict__["_find_unused"],
        )
        ddp.register_comm_hook(_Exchange(group, self.__dict__["_step"]), _exchange)
        object.__setattr__(self, "_ddp", ddp)

    def part(self) -> None:
        """Forget the group, and gradients that lie in its buffers."""
        object.__setattr__(self, "_ddp", None)
        self.module.zero_grad(set_to_none=True)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The module's outputs. In a training step their gradients are weighted by the samples behind them."""
        step: Step = self.__dict__["_step"]
        if not (step.is_under_way and torch.is_grad_enabled()):
            return self.module(*args, **kwargs)
        return _weighted(self._outputs(step, args, kwargs), step.weight)

    def _outputs(self, step: Step, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ddp: DistributedDataParallel | None = self.__dict__["_ddp"]
        if ddp is None or step.is_aborted:
            return self.module(*args, **kwargs)
        ddp.require_backward_grad_sync = step.is_last_piece
        try:
            return ddp(*args, **kwargs)
        except RuntimeError:
            # In a generation's second step DDP compares its buckets with the others': somebody may be lost then.
            # If it was the module's own fault, it will fail again.
            step.abort()
        return self.module(*args, **kwargs)

    @property
    def training(self) -> bool:
        """The module's mode."""
        return self.module.training if "_module" in self.__dict__ else True

    @training.setter
    def training(self, mode: bool) -> None:
        if "_module" in self.__dict__:
            self.module.training = mode

    def train(self, mode: bool = True) -> ElasticModel:
        """As the module does."""
        self.module.train(mode)
        return self

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """As the module does."""
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """As the module does."""
        return self.module.load_state_dict(*args, **kwargs)

    def _apply(self, fn: Any, recurse: bool = True) -> ElasticModel:
        self.module._apply(fn, recurse)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        if "_module" in self.__dict__ and name not in _OWN and name != "training":
            setattr(self.module, name, value)
        else:
            super().__setattr__(name, value)

    def __deepcopy__(self, memo: dict[int, Any]) -> nn.Module:
        return copy.deepcopy(self.module, memo)

    def __reduce__(self) -> Any:
        return _same, (self.module,)

    def __repr__(self) -> str:
        return repr(self.module)


def _same(module: nn.Module) -> nn.Module:
    return module


@dataclasses.dataclass(frozen=True, slots=True)
class _Exchange:
    """What the hook must know."""

    group: Group
    step: Step


def _exchange(exchange: _Exchange, bucket: _Bucket) -> torch.futures.Future[torch.Tensor]:
    """The mean over the workers. An error becomes an aborted step, and never reaches the user's `backward()`."""
    group, step = exchange.group, exchange.step
    gradients = bucket.buffer()
    if bucket.is_last():
        step.on_meeting()
    if not step.is_aborted and group.processes is not None:
        try:
            work = group.processes.allreduce([gradients.div_(group.world)], dist.AllreduceOptions())
        except RuntimeError:
            step.abort()
        else:
            return _whatever_comes(work.get_future(), gradients, step)
    done: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    done.set_result(gradients)
    return done


_exchange.__annotations__ = {}  # DDP checks them, and cannot read postponed ones


def _whatever_comes(
    future: torch.futures.Future[Any], gradients: torch.Tensor, step: Step
) -> torch.futures.Future[torch.Tensor]:
    def look(done: torch.futures.Future[Any]) -> torch.Tensor:
        try:
            done.value()
        except RuntimeError:
            step.abort()
        return gradients

    return future.then(look)


class _Weighted(torch.autograd.Function):
    """The same values; gradients times a weight."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, weight: float) -> torch.Tensor:
        """The values."""
        ctx.weight = weight
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The weight."""
        return gradients[0] * ctx.weight, None


_weigh: Callable[[torch.Tensor, float], torch.Tensor] = _Weighted.apply


def _weighted(outputs: _T, weight: float) -> _T:
    if weight == 1.0:
        return outputs
    if dataclasses.is_dataclass(outputs) and not isinstance(outputs, type):
        fields = {
            field.name: getattr(outputs, field.name) for field in dataclasses.fields(outputs) if field.init
        }
        if not isinstance(outputs, dict):
            return dataclasses.replace(
                outputs, **{name: _weighted(value, weight) for name, value in fields.items()}
            )

    def weigh(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            return _weigh(value, weight)
        return value

    weighed: _T = pytree.tree_map(weigh, outputs)
    return weighed
