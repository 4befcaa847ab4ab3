"""A small residual network, and images of CIFAR's shape that it can learn."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils import data

CLASSES = 10


class ResNet(nn.Module):
    """Three stages of residual blocks. It normalises groups: batches would be others at another number of workers."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.blocks = nn.Sequential(
            _Block(width, width, stride=2),
            _Block(width, 2 * width, stride=2),
            _Block(2 * width, 4 * width, stride=2),
        )
        self.head = nn.Linear(4 * width, CLASSES)

    def forward(self, images: Tensor) -> Tensor:
        """Scores of every class."""
        scores: Tensor = self.head(self.blocks(self.stem(images)).mean(dim=(2, 3)))
        return scores


class _Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, padding=1, bias=False)
        self.second = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.around = nn.Conv2d(before, after, 1, stride, bias=False)
        self.norms = nn.ModuleList(nn.GroupNorm(4, channels) for channels in (before, after))

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.norms[0](x))
        through = functional.relu(self.norms[1](self.first(x)))
        return self.second(through) + self.around(x)


def images(samples: int = 2000) -> data.TensorDataset:
    """Three channels of 32 x 32 pixels: a picture for each class, under noise."""
    chance = torch.Generator().manual_seed(0)
    pictures = torch.randn(CLASSES, 3, 8, 8, generator=chance).repeat_interleave(4, 2).repeat_interleave(4, 3)
    labels = torch.randint(CLASSES, (samples,), generator=chance)
    return data.TensorDataset(pictures[labels] + torch.randn(samples, 3, 32, 32, generator=chance), labels)
