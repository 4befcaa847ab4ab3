"""A workload: a trace made runnable on one cluster, every job with its curve as a row of numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.trace import Trace


@dataclass(frozen=True)
class Workload:
    """Jobs with their speeds: `rate[i, k]` steps/s of job i on `sizes[k]` slots, 0 if it cannot run there."""

    trace: Trace
    cluster: Cluster
    profiles: Profiles
    sizes: Ints
    rate: Floats


def resolve(trace: Trace, profiles: Profiles, cluster: Cluster) -> Workload:
    """Look up each job's curve. Refuse the first job that this cluster or these profiles cannot run."""
    sizes = np.array(profiles.sizes, dtype=np.int64)
    rows: dict[tuple[str, int], Floats] = {}
    rate = np.zeros((len(trace), len(sizes)))
    for index, (model, batch) in enumerate(zip(trace.models, trace.batch.tolist(), strict=True)):
        key = (model, batch)
        if key not in rows:
            rows[key] = _row(_curve(trace, index, profiles), profiles.sizes)
        rate[index] = rows[key]
        _check_request(trace, index, profiles, cluster)
    return Workload(trace, cluster, profiles, frozen(sizes), frozen(rate))


def _row(curve: Curve, sizes: tuple[int, ...]) -> Floats:
    return np.array([curve.rate.get(size, 0.0) for size in sizes])


def _place(trace: Trace, index: int, column: str) -> Place:
    return Place(trace.source, int(trace.line[index]), column)


def _curve(trace: Trace, index: int, profiles: Profiles) -> Curve:
    model, batch = trace.models[index], int(trace.batch[index])
    known = profiles.batches(model)
    if not known:
        raise InputInvalid(
            f"model {model!r} is not among the {profiles.name} profiles",
            remedy=f"They know {', '.join(profiles.models())}; choose others with --profiles",
            place=_place(trace, index, "model_name"),
        )
    if batch not in known:
        raise InputInvalid(
            f"batch size {batch} of {model} is not in the {profiles.name} profiles",
            remedy=f"Use one of {', '.join(map(str, known))}, or add a row for it to the profile",
            place=_place(trace, index, "batch_size"),
        )
    return profiles.curves[model, batch]


def _check_request(trace: Trace, index: int, profiles: Profiles, cluster: Cluster) -> None:
    requested = int(trace.requested[index])
    if requested > cluster.total:
        raise InputInvalid(
            f"the job asks for {requested} slots, cluster {cluster.name} has {cluster.total}",
            remedy="Choose a larger cluster with --cluster, or leave the job out",
            place=_place(trace, index, "num_gpu"),
        )
    curve = profiles.curves[trace.models[index], int(trace.batch[index])]
    if requested not in curve.rate:
        raise InputInvalid(
            f"{trace.models[index]} at batch {int(trace.batch[index])} was not measured on {requested} slots",
            remedy=f"It runs on {', '.join(map(str, sorted(curve.rate)))}; change num_gpu or the profile",
            place=_place(trace, index, "num_gpu"),
        )
