"""A network that writes down what it hears: convolution, recurrence in both directions, CTC."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from tenuto.workloads.parts import SAMPLES, Parts, seeded

FRAMES = 24
BANDS = 16
LETTERS = 20
"""With the blank, which is 0."""
SPOKEN = 4
"""Letters of one recording; each is heard for as many frames."""


def deepspeech2() -> Parts:
    """Spectrograms in, letters out."""
    return Parts(_Listener(), _ctc, _recordings())


def _recordings() -> TensorDataset:
    """Every letter has a sound of its own, under noise."""
    source = seeded()
    sounds = torch.randn(LETTERS, BANDS, generator=source)
    letters = torch.randint(1, LETTERS, (SAMPLES, SPOKEN), generator=source)
    heard = sounds[letters].repeat_interleave(FRAMES // SPOKEN, dim=1)
    return TensorDataset(heard + 0.3 * torch.randn(SAMPLES, FRAMES, BANDS, generator=source), letters)


def _ctc(outputs: Tensor, targets: Tensor) -> Tensor:
    """Every recording has the same number of letters, so the mean is one over samples."""
    frames = torch.full((len(outputs),), outputs.shape[1])
    letters = torch.full((len(targets),), SPOKEN)
    return functional.ctc_loss(outputs.transpose(0, 1), targets, frames, letters)


class _Listener(nn.Module):
    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.ear = nn.Conv1d(BANDS, width, 3, padding=1)
        self.memory = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.pen = nn.Linear(2 * width, LETTERS)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(self.ear(x.transpose(1, 2))).transpose(1, 2)
        x, _ = self.memory(x)
        return functional.log_softmax(self.pen(x), dim=-1)
