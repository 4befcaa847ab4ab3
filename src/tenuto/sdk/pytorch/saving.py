"""Training states and models on disk: tensors as safetensors, the rest as JSON. Reading them executes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tenuto.errors import InputInvalid
from tenuto.sdk.pytorch.state import TrainingState

try:
    from safetensors.torch import load_file, save_file
except ImportError as error:
    raise InputInvalid(
        "safetensors is not installed, which checkpoints are written with",
        remedy="Install it with pip install 'tenuto[torch]', or pip install safetensors",
    ) from error

TENSORS, FACTS, MODEL = "state.safetensors", "facts.json", "model.safetensors"
_TWINS = "twins"
"""Names of tensors that are another one under a second name, such as tied weights."""


def write_state(directory: Path, state: TrainingState) -> None:
    """Put a state into a directory."""
    _write_tensors(directory / TENSORS, state.tensors)
    (directory / FACTS).write_text(json.dumps(state.facts), encoding="utf-8")


def read_state(directory: Path) -> TrainingState:
    """Take it out again."""
    facts: dict[str, Any] = json.loads((directory / FACTS).read_bytes())
    return TrainingState(tensors=_read_tensors(directory / TENSORS), facts=facts)


def export_model(directory: Path, model: torch.nn.Module) -> Path:
    """Write a model's weights for whoever uses it, as one file; the old one stays until the new one is whole."""
    plain = getattr(model, "module", model)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / MODEL
    new = path.with_suffix(".new")  # always the same: the next export replaces what a killed one left
    _write_tensors(new, plain.state_dict())
    new.chmod(0o666 & directory.stat().st_mode)  # others may read it if they may come here
    new.replace(path)
    return path


def load_model(path: Path, model: torch.nn.Module) -> None:
    """Put exported weights into a model of the same form."""
    model.load_state_dict(_read_tensors(path))


def _write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Tensors that share memory are one tensor under several names, or parts of one: the latter are copied."""
    named: dict[str, torch.Tensor] = {}
    first: dict[tuple[Any, ...], str] = {}
    storages: set[int] = set()
    twins: dict[str, str] = {}
    for name, given in tensors.items():
        tensor = given.detach()
        storage = tensor.untyped_storage().data_ptr()
        look = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and look in first:
            twins[name] = first[look]
            continue
        first[look] = name
        copied = tensor.clone(memory_format=torch.contiguous_format) if storage in storages else tensor
        named[name] = copied.contiguous()
        storages.add(storage)
    save_file(named, path, metadata={_TWINS: json.dumps(twins)})


def _read_tensors(path: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = load_file(path)
    for name, twin in _twins_in(path).items():
        tensors[name] = tensors[twin]
    return tensors


def _twins_in(path: Path) -> dict[str, str]:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        found: dict[str, str] = json.loads((file.metadata() or {}).get(_TWINS, "{}"))
    return found
