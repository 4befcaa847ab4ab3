"""Transformers over short texts of numbered tokens, without dropout: its chance would depend on a sample's place."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from tenuto.workloads.parts import SAMPLES, Parts, seeded

VOCABULARY = 64
MASK = 0
"""The token that hides another one."""
LENGTH = 16
WIDTH = 32


def bert() -> Parts:
    """Sees the whole text and fills in what is masked."""
    whole = _texts()
    hidden = torch.rand(whole.shape, generator=seeded(1)) < 0.25
    return Parts(_Transformer(), _of_tokens, TensorDataset(whole.masked_fill(hidden, MASK), whole))


def gpt2() -> Parts:
    """Sees what comes before and tells the next token."""
    whole = _texts(LENGTH + 1)
    return Parts(_Transformer(causal=True), _of_tokens, TensorDataset(whole[:, :-1], whole[:, 1:]))


def _texts(length: int = LENGTH, samples: int = SAMPLES) -> Tensor:
    """Texts in which each token follows from the one before by a fixed step: something that can be learnt."""
    source = seeded()
    first = torch.randint(VOCABULARY - 1, (samples, 1), generator=source)
    pace = torch.randint(1, 4, (samples, 1), generator=source)
    return 1 + (first + pace * torch.arange(length)) % (VOCABULARY - 1)


def _of_tokens(outputs: Tensor, targets: Tensor) -> Tensor:
    """Every text has the same length, so the mean over tokens is one over samples."""
    return functional.cross_entropy(outputs.transpose(1, 2), targets)


class _Transformer(nn.Module):
    def __init__(self, *, causal: bool = False) -> None:
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        layers = [
            nn.TransformerEncoderLayer(WIDTH, 2, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(2)
        ]
        self.layers = nn.ModuleList(layers)
        self.head = nn.Linear(WIDTH, VOCABULARY)
        self.causal = causal

    def forward(self, x: Tensor) -> Tensor:
        later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1) if self.causal else None
        x = self.token(x) + self.place
        for layer in self.layers:
            x = layer(x, src_mask=later)
        y: Tensor = self.head(x)
        return y
