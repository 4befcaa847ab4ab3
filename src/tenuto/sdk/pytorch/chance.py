"""The random states of a process: torch, Python, and numpy and CUDA where they are used."""

from __future__ import annotations

import importlib
import random
import sys
from typing import Any

import torch

from tenuto.sdk.pytorch.packing import Tensors, pack, unpack

_PREFIX = "random"


def capture_chance() -> tuple[Tensors, Any]:
    """All of them, as tensors and JSON."""
    tensors: Tensors = {f"{_PREFIX}/torch": torch.get_rng_state()}
    version, words, gauss = random.getstate()
    tensors[f"{_PREFIX}/python"] = torch.tensor(words, dtype=torch.int64)
    facts: dict[str, Any] = {"python": [version, gauss]}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        facts["numpy"] = pack(numpy.random.get_state(legacy=False), f"{_PREFIX}/numpy", tensors)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        tensors[f"{_PREFIX}/cuda"] = torch.cuda.get_rng_state()
    return tensors, facts


def restore_chance(tensors: Tensors, facts: Any) -> None:
    """As it was captured."""
    torch.set_rng_state(tensors[f"{_PREFIX}/torch"])
    version, gauss = facts["python"]
    random.setstate((version, tuple(tensors[f"{_PREFIX}/python"].tolist()), gauss))
    if "numpy" in facts:
        importlib.import_module("numpy").random.set_state(unpack(facts["numpy"], tensors))
    if f"{_PREFIX}/cuda" in tensors and torch.cuda.is_available():
        torch.cuda.set_rng_state(tensors[f"{_PREFIX}/cuda"])


class Rewind:
    """Where a step began, as far as a forward pass can change it: buffers and random states."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._buffers: list[torch.Tensor] = []
        self._copies: list[torch.Tensor] = []
        self._torch: torch.Tensor | None = None
        self._python: Any = None
        self._numpy: Any = None
        self._cuda: torch.Tensor | None = None

    def mark(self) -> None:
        """A step begins. Some tens of microseconds, and the copy of the buffers."""
        buffers = list(self._module.buffers())
        if len(buffers) != len(self._copies):
            self._copies = [torch.empty_like(buffer) for buffer in buffers]
        self._buffers = buffers
        _copy_all(self._copies, buffers)
        self._torch = torch.get_rng_state()
        self._python = random.getstate()
        numpy = sys.modules.get("numpy")
        self._numpy = None if numpy is None else numpy.random.get_state(legacy=False)
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            self._cuda = torch.cuda.get_rng_state()

    def back(self) -> None:
        """It did not happen."""
        if self._torch is None:
            return
        _copy_all(self._buffers, self._copies)
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)
        if self._cuda is not None:
            torch.cuda.set_rng_state(self._cuda)


def _copy_all(targets: list[torch.Tensor], sources: list[torch.Tensor]) -> None:
    if targets:
        with torch.no_grad():
            torch._foreach_copy_(targets, sources)
