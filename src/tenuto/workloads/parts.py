"""What a stand-in consists of, and data for it: drawn from a seed, or read from a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from tenuto.errors import InputInvalid, Place
from tenuto.workloads.registry import FILES

SAMPLES = 1024
"""Of synthetic data: enough for a few dozen steps an epoch, made in milliseconds."""


@dataclass(frozen=True)
class Parts:
    """Everything that is trained."""

    model: nn.Module
    loss: Callable[[Tensor, Tensor], Tensor]
    """Of outputs and targets; a mean over samples, so that it means the same for any share of a batch."""
    dataset: TensorDataset


def seeded(seed: int = 0) -> torch.Generator:
    """Draws the same numbers in every process."""
    return torch.Generator().manual_seed(seed)


def with_data(parts: Parts, folder: Path) -> Parts:
    """The same with the data of a folder, whose samples must have the shape that the model takes."""
    tensors = [torch.from_numpy(_read(folder / name)) for name in FILES]
    expected = parts.dataset.tensors
    for name, given, model in zip(FILES, tensors, expected, strict=True):
        if given.shape[1:] != model.shape[1:] or given.dtype != model.dtype:
            raise InputInvalid(
                f"samples are {_shape(given)}, the model takes {_shape(model)}",
                remedy="Convert the data, or leave --data out for synthetic data",
                place=Place(str(folder / name)),
            )
    if len({len(tensor) for tensor in tensors}) > 1 or not len(tensors[0]):
        raise InputInvalid(
            f"{' and '.join(FILES)} hold {' and '.join(str(len(tensor)) for tensor in tensors)} samples",
            remedy="Both must hold the same number, and at least one",
            place=Place(str(folder)),
        )
    return replace(parts, dataset=TensorDataset(*tensors))


def _read(path: Path) -> np.ndarray:
    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputInvalid(
            f"it cannot be read ({error})", remedy="Write it with numpy.save", place=Place(str(path))
        ) from None
    return array


def _shape(tensor: Tensor) -> str:
    sizes = " x ".join(str(size) for size in tensor.shape[1:]) or "single numbers"
    return f"{sizes} of {str(tensor.dtype).removeprefix('torch.')}"
