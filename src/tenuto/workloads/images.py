"""Networks that tell the class of an image. Groups are normalised instead of batches, which depend on their size."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from tenuto.workloads.parts import SAMPLES, Parts, seeded

SIZE = 16
"""Pixels of an image's edge."""


def resnet50() -> Parts:
    """Residual blocks with a bottleneck, 100 classes."""
    return _parts(_resnet(_Bottleneck, classes=100), classes=100)


def resnet50_cifar10() -> Parts:
    """Residual blocks with a bottleneck, 10 classes."""
    return _parts(_resnet(_Bottleneck, classes=10), classes=10)


def cifar10() -> Parts:
    """Plain residual blocks, 10 classes."""
    return _parts(_resnet(_Basic, classes=10), classes=10)


def vgg16() -> Parts:
    """Stacked convolutions, then the wide linear layers that make most of such a model."""
    layers: list[nn.Module] = []
    for before, after in ((3, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.Flatten(), nn.Linear(32 * 4, 256), nn.ReLU(), nn.Linear(256, 100)]
    return _parts(nn.Sequential(*layers, *head), classes=100)


def inception3() -> Parts:
    """Convolutions of several widths beside each other."""
    model = nn.Sequential(
        _convolution(3, 16, stride=2),
        _Branches(16, 8),
        nn.MaxPool2d(2),
        _Branches(24, 16),
        *_head(48, classes=100),
    )
    return _parts(model, classes=100)


def images(classes: int, samples: int = SAMPLES, size: int = SIZE) -> TensorDataset:
    """Noise around one picture for each class: something that can be learnt."""
    source = seeded()
    pictures = torch.randn(classes, 3, size, size, generator=source)
    labels = torch.randint(classes, (samples,), generator=source)
    noise = torch.randn(samples, 3, size, size, generator=source)
    return TensorDataset(0.5 * pictures[labels] + noise, labels)


def _parts(model: nn.Module, classes: int) -> Parts:
    return Parts(model, functional.cross_entropy, images(classes))


def _resnet(block: type[_Basic] | type[_Bottleneck], classes: int) -> nn.Sequential:
    return nn.Sequential(
        _convolution(3, 16, stride=2),
        block(16, 16),
        block(16, 32, stride=2),
        block(32, 64, stride=2),
        *_head(64, classes),
    )


def _head(width: int, classes: int) -> tuple[nn.Module, ...]:
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes)


def _convolution(before: int, after: int, kernel: int = 3, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(4, after), nn.ReLU())


class _Basic(nn.Module):
    """Two convolutions with a way around them."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__()
        self.through: nn.Module = nn.Sequential(
            _convolution(before, after, stride=stride), _convolution(after, after)
        )
        self.around = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.through(x) + self.around(x))


class _Bottleneck(_Basic):
    """The same with a narrow middle."""

    def __init__(self, before: int, after: int, stride: int = 1) -> None:
        super().__init__(before, after, stride)
        narrow = after // 4
        self.through = nn.Sequential(
            _convolution(before, narrow, 1),
            _convolution(narrow, narrow, 3, stride),
            _convolution(narrow, after, 1),
        )


class _Branches(nn.Module):
    """Convolutions of widths 1, 3 and 5, joined."""

    def __init__(self, before: int, each: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(_convolution(before, each, kernel) for kernel in (1, 3, 5))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], dim=1)
