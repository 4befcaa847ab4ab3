"""The training that all systems do: a model of 25 million parameters, Adam, a batch that is split among the workers."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import Dataset

GLOBAL_BATCH = 12
"""Divisible by one, two, three and four."""
_WIDTH = 2048
_LAYERS = 6


def build(width: int = _WIDTH) -> tuple[nn.Module, torch.optim.Optimizer]:
    """6 x (2048² + 2048) = 25.2 million parameters; with Adam 302 MB of state."""
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for _ in range(_LAYERS):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    return model, torch.optim.Adam(model.parameters(), lr=1e-4)


def samples(count: int, width: int = _WIDTH) -> tuple[torch.Tensor, torch.Tensor]:
    """Some data; which is of no importance here."""
    return torch.randn(count, width), torch.randn(count, width)


class Endless(Dataset):
    """As many samples as anybody wants, all alike."""

    def __init__(self) -> None:
        self._one = tuple(part[0] for part in samples(1))

    def __len__(self) -> int:
        return 1 << 24

    def __getitem__(self, index: int) -> tuple[torch.Tensor, ...]:
        return self._one


class StepLog:
    """Where a worker writes down the end of every step: moment, workers, and a tag that changes with each rescale."""

    def __init__(self) -> None:
        directory = Path(os.environ["RESCALE_LOG"])
        self._file = os.open(directory / f"{os.getpid()}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def step(self, world: int, tag: object, rank: int) -> None:
        """A step has ended now."""
        told = {"at": time.monotonic(), "world": world, "tag": str(tag), "rank": rank, "pid": os.getpid()}
        os.write(self._file, json.dumps(told).encode() + b"\n")
