"""How many GPUs a job may get at most: the reference's hand-made table, and its rule for other policies."""

from __future__ import annotations

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.levels import LEVELS, level_fitting
from tenuto.sim.workload import Workload

_ANY = -1
_MOST = 64

_A100: dict[str, dict[int, int]] = {
    "gpt2": {128: 16, 256: 32},
    "bert": {64: 8, _ANY: 16},
    "inception3": {64: 16, 128: 32},
    "resnet50": {64: 32},
    "vgg16": {64: 32},
}
_OTHERS: dict[str, dict[int, int]] = {
    "bert": {_ANY: 16},
    "cifar10": {_ANY: 16},
    "deepspeech2": {320: 32},
    "yolov3": {_ANY: 4},
    "ncf": {_ANY: 1},
}


def rates_by_level(workload: Workload) -> Floats:
    """Bring the workload's speeds into the seven columns of the reference; 0 where there is none."""
    rate = np.zeros((len(workload.trace), LEVELS))
    for column, size in enumerate(workload.sizes.tolist()):
        if size in {1 << level for level in range(LEVELS)}:
            rate[:, size.bit_length() - 1] = workload.rate[:, column]
    return rate


def elasticflow_limits(workload: Workload) -> Ints:
    """Give each job's highest level by the table that keeps it on the rising part of its curve."""
    a100 = workload.profiles.name == "a100"
    return _highest(workload, [_by_table(model, batch, a100=a100) for model, batch in _kinds(workload)])


def column_limits(workload: Workload) -> Ints:
    """Give each job's highest level by its profile alone, even beyond the peak of its curve (Q9)."""
    return _highest(workload, [min(_MOST, batch) for _, batch in _kinds(workload)])


def _kinds(workload: Workload) -> list[tuple[str, int]]:
    return list(zip(workload.trace.models, workload.trace.batch.tolist(), strict=True))


def _by_table(model: str, batch: int, *, a100: bool) -> int:
    table = (_A100 if a100 else _OTHERS).get(model, {})
    if a100 and model == "deepspeech2":
        return batch
    default = min(batch, _MOST) if a100 else _MOST
    return table.get(batch, table.get(_ANY, default))


def _highest(workload: Workload, most: list[int]) -> Ints:
    """Turn GPU counts into levels, none above the first column that the job's curve lacks.

    The reference would divide by zero there, so this changes no result that it can produce.
    """
    runs = rates_by_level(workload) > 0
    measured = np.where(runs.all(axis=1), LEVELS, np.argmin(runs, axis=1)) - 1
    if (measured < 0).any():
        job = int(np.argmax(measured < 0))
        raise InputInvalid(
            f"{workload.trace.models[job]} was not measured on 1 slot, where the reference starts",
            remedy="Add the column 1 to its profile, or replay without --compat",
        )
    wanted = np.array([level_fitting(gpus) for gpus in most], dtype=np.int64)
    limits: Ints = np.minimum(wanted, measured).astype(np.int64)
    return limits
