"""The model as a training loop sees it: the user's own module, whose gradients are those of the whole batch.

The group behind it changes from generation to generation; DistributedDataParallel is made anew for each, and the user
holds only this wrapper, which otherwise behaves as the module in it.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils import _pytree as pytree

from tenuto.sdk.pytorch.group import Group
from tenuto.sdk.pytorch.step import Step

# Buffers are not kept equal: that would be a collective operation in forward, where no error can be caught.
_NO_BUFFERS: dict[str, Any] = (
    {"forward_sync_buffers": False}
    if "forward_sync_buffers" in inspect.signature(DistributedDataParallel).parameters
    else {"broadcast_buffers": False}
)
_Gradients: TypeAlias = "torch.futures.Future[torch.Tensor]"
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
            find_unused_parameters=self.__dict__["_find_unused"],
            **_NO_BUFFERS,
        )
        exchange = _Exchange(group, self.__dict__["_step"])
        group.on_given_up(exchange.release)
        ddp.register_comm_hook(exchange, _exchange)
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


class _Exchange:
    """The gradients of one group. Nobody waits for them any longer than the group lasts."""

    def __init__(self, group: Group, step: Step) -> None:
        self._group = group
        self._step = step
        self._lock = threading.Lock()
        self._waiting: dict[_Gradients, torch.Tensor] = {}

    def begin(self, gradients: torch.Tensor, *, is_last: bool) -> _Gradients:
        """The mean over the workers, sooner or later. An error becomes an aborted step and never reaches the user."""
        if is_last:
            self._step.on_meeting()
        mean: _Gradients = torch.futures.Future()
        with self._lock:
            self._waiting[mean] = gradients
        processes = self._group.processes
        if self._step.is_aborted or self._group.is_broken or processes is None:
            self._end(mean, is_good=False)
            return mean
        try:
            work = processes.allreduce([gradients.div_(self._group.world)], dist.AllreduceOptions())
            work.get_future().add_done_callback(functools.partial(self._look, mean))
        except RuntimeError:
            self._end(mean, is_good=False)
        return mean

    def release(self) -> None:
        """The group was given up: end what is under way, whatever gloo makes of it. From any thread."""
        with self._lock:
            waiting = list(self._waiting)
        for mean in waiting:
            self._end(mean, is_good=False)

    def _look(self, mean: _Gradients, done: torch.futures.Future[Any]) -> None:
        try:
            done.value()
        except RuntimeError:
            self._end(mean, is_good=False)
        else:
            self._end(mean, is_good=True)

    def _end(self, mean: _Gradients, *, is_good: bool) -> None:
        with self._lock:
            gradients = self._waiting.pop(mean, None)
        if gradients is None:
            return
        if not is_good:
            self._step.abort()
        mean.set_result(gradients)


def _exchange(exchange: _Exchange, bucket: _Bucket) -> _Gradients:
    return exchange.begin(bucket.buffer(), is_last=bucket.is_last())


_exchange.__annotations__ = {}  # DDP checks them, and cannot read postponed ones


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
