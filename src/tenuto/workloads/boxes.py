"""A network that tells where something is in an image, at two scales at once, as YOLO does."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from tenuto.workloads.parts import SAMPLES, Parts, seeded

SIZE = 16
FINE, COARSE = 4, 2
"""Cells of the two grids, along an edge."""
FACTS = 3
"""Of a cell: whether the middle of the box is in it, and where."""


def yolov3() -> Parts:
    """Images in, the facts of all cells of both grids out."""
    return Parts(_Detector(), functional.mse_loss, _scenes())


def _scenes() -> TensorDataset:
    """A bright square somewhere in noise."""
    source = seeded()
    places = torch.randint(SIZE - 3, (SAMPLES, 2), generator=source)
    scenes = 0.3 * torch.randn(SAMPLES, 3, SIZE, SIZE, generator=source)
    for scene, (row, column) in zip(scenes, places.tolist(), strict=True):
        scene[:, row : row + 4, column : column + 4] += 1.0
    targets = torch.cat([_facts(places, FINE), _facts(places, COARSE)], dim=1)
    return TensorDataset(scenes, targets)


def _facts(places: Tensor, cells: int) -> Tensor:
    """The facts of every cell of one grid, in a row."""
    middle = (places + 2).float() / SIZE * cells
    cell = middle.long().clamp(max=cells - 1)
    facts = torch.zeros(len(places), FACTS, cells, cells)
    values = torch.cat([torch.ones(len(places), 1), middle - cell], dim=1)
    facts[torch.arange(len(places)), :, cell[:, 0], cell[:, 1]] = values
    return facts.flatten(1)


class _Detector(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.near = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 3, 2, 1), nn.ReLU()
        )
        self.far = nn.Sequential(nn.Conv2d(width, 2 * width, 3, 2, 1), nn.ReLU())
        self.fine = nn.Conv2d(width, FACTS, 1)
        self.coarse = nn.Conv2d(2 * width, FACTS, 1)

    def forward(self, x: Tensor) -> Tensor:
        near = self.near(x)
        return torch.cat([self.fine(near).flatten(1), self.coarse(self.far(near)).flatten(1)], dim=1)
