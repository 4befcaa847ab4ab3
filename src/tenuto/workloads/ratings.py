"""A network that guesses whether somebody likes something: neural collaborative filtering."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from tenuto.workloads.parts import SAMPLES, Parts, seeded

PEOPLE = 64
THINGS = 64
WIDTH = 8


def ncf() -> Parts:
    """A pair of numbers in, one number out."""
    return Parts(_Filter(), functional.binary_cross_entropy_with_logits, _ratings())


def _ratings() -> TensorDataset:
    """People like the things whose hidden tastes agree with theirs."""
    source = seeded()
    tastes = torch.randn(PEOPLE, 4, generator=source) @ torch.randn(4, THINGS, generator=source)
    people = torch.randint(PEOPLE, (SAMPLES,), generator=source)
    things = torch.randint(THINGS, (SAMPLES,), generator=source)
    return TensorDataset(torch.stack([people, things], dim=1), (tastes[people, things] > 0).float())


class _Filter(nn.Module):
    """The product of two embeddings, beside a perceptron over two others."""

    def __init__(self) -> None:
        super().__init__()
        self.people = nn.Embedding(PEOPLE, 2 * WIDTH)
        self.things = nn.Embedding(THINGS, 2 * WIDTH)
        self.perceptron = nn.Sequential(nn.Linear(2 * WIDTH, 32), nn.ReLU(), nn.Linear(32, WIDTH), nn.ReLU())
        self.head = nn.Linear(2 * WIDTH, 1)

    def forward(self, x: Tensor) -> Tensor:
        person, other = self.people(x[:, 0]).chunk(2, dim=1)
        thing, another = self.things(x[:, 1]).chunk(2, dim=1)
        both = torch.cat([person * thing, self.perceptron(torch.cat([other, another], dim=1))], dim=1)
        liked: Tensor = self.head(both).squeeze(1)
        return liked
