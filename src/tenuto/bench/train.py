"""`python -m tenuto.bench.train`: a model of a given number of parameters with Adam, until it is told to stop."""

from __future__ import annotations

import argparse
import math

import torch
from torch import nn
from torch.utils.data import Dataset

import tenuto

_LAYERS = 6
_SAMPLES = 1 << 20


class OneSample(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Many samples that are all alike: what is learned does not matter here."""

    def __init__(self, width: int) -> None:
        self._sample = (torch.randn(width), torch.randn(width))

    def __len__(self) -> int:
        return _SAMPLES

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        del index
        return self._sample


def model_of(parameters: int) -> tuple[nn.Module, int]:
    """Linear layers with about so many parameters together, and their width."""
    width = max(1, round((math.sqrt(1 + 4 * parameters / _LAYERS) - 1) / 2))
    layers: list[nn.Module] = []
    for _ in range(_LAYERS):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers[:-1]), width


def main() -> None:
    """Train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parameters", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    given = parser.parse_args()
    run = tenuto.init()
    model, width = model_of(given.parameters)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    model, optimizer, batches = run.elastic(model, optimizer, OneSample(width), global_batch=given.batch)
    for x, y in batches:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        run.report(loss=loss)
    run.finish(model)


if __name__ == "__main__":
    main()
