"""Batch normalisation over the whole batch, whatever the number of workers: for scripts that ask for it.

Statistics are gathered from all workers in every forward pass, and their gradients in every backward pass: each layer
costs two small collective operations. Unlike torch's SyncBatchNorm it also works without a GPU, weighs workers by their
samples, and survives a loss: an operation that fails makes the step void instead of raising into the user's code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from tenuto.sdk.pytorch.group import Group
from tenuto.sdk.pytorch.step import Step


class Gathering:
    """The sum over the workers of the group that there is now."""

    def __init__(self, step: Step) -> None:
        self.group: Group | None = None
        self.step = step

    @property
    def is_needed(self) -> bool:
        """Whether there are others in the step under way."""
        has_others = self.group is not None and self.group.processes is not None
        return has_others and self.step.is_under_way and not self.step.is_aborted

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        """Of all workers; of this one alone if somebody is lost."""
        group = self.group
        if group is None or group.processes is None or self.step.is_aborted:
            return values
        total = values.detach().clone()
        try:
            group.processes.allreduce([total]).wait()
        except RuntimeError:
            self.step.abort()
        return total


class _Sum(torch.autograd.Function):
    """Whatever every worker made of the sum flows back to each part of it."""

    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, gathering: Gathering) -> torch.Tensor:
        """The sum."""
        ctx.gathering = gathering
        return gathering.sum(values)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        """The sum of the gradients."""
        return ctx.gathering.sum(gradients[0].contiguous()), None


_sum: Callable[[torch.Tensor, Gathering], torch.Tensor] = _Sum.apply


class WholeBatchNorm(_BatchNorm):
    """A batch normalisation layer that has become one of the whole batch."""

    gathering: Gathering

    def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - as torch names it
        """Normalised."""
        if not (self.training and torch.is_grad_enabled() and self.gathering.is_needed):
            return super().forward(input)
        counts = (
            1.0 if self.gathering.step.weight > 0 else 0.0
        )  # a stand-in for a missing share counts nothing
        dims = [dim for dim in range(input.dim()) if dim != 1]
        size = input.numel() // input.shape[1]
        local = torch.cat(
            [input.sum(dims) * counts, (input * input).sum(dims) * counts, input.new_tensor([counts * size])]
        )
        total = _sum(local, self.gathering)
        count = total[-1].detach()
        mean, square = (total[:-1] / count).chunk(2)
        variance = (square - mean * mean).clamp_min(0.0)
        self._remember(mean.detach(), variance.detach(), count)
        shape = [1, -1, *[1] * (input.dim() - 2)]
        normal = (input - mean.view(shape)) * torch.rsqrt(variance + self.eps).view(shape)
        return normal * self.weight.view(shape) + self.bias.view(shape) if self.affine else normal

    def _remember(self, mean: torch.Tensor, variance: torch.Tensor, count: torch.Tensor) -> None:
        if not self.track_running_stats or self.running_mean is None or self.running_var is None:
            return
        assert self.num_batches_tracked is not None
        self.num_batches_tracked.add_(1)
        seen = float(self.num_batches_tracked)
        share = 1.0 / seen if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, share)
        self.running_var.lerp_(variance * (count / (count - 1).clamp_min(1.0)), share)

    def _check_input_dim(self, input: torch.Tensor) -> None:  # noqa: A002 - as torch names it
        """Any that has channels."""
        if input.dim() < 2:
            raise ValueError(f"expected at least 2 dimensions, got {input.dim()}")


def gather_batchnorm(model: nn.Module, gathering: Gathering) -> None:
    """Make every batch normalisation in a model one of the whole batch. Its parameters stay the same objects."""
    for module in model.modules():
        if isinstance(module, _BatchNorm) and not isinstance(module, WholeBatchNorm):
            module.__class__ = WholeBatchNorm
            object.__setattr__(module, "gathering", gathering)
