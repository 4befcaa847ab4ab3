"""What the paper's pictures show, as its plotting scripts hold it, to set our numbers beside.

The scripts of Figures 6 and 8(a) swap two names in the legend; here each value stands under the policy that it
was measured for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

Published = Mapping[tuple[str, str], float]
"""A published value by policy and place on the x axis."""


def _rows(places: Sequence[str], **rows: Sequence[float]) -> Published:
    """A table with one row per policy; underscores stand for hyphens."""
    values = {
        (policy.replace("_", "-"), place): value
        for policy, row in rows.items()
        for place, value in zip(places, row, strict=True)
    }
    return MappingProxyType(values)


TESTBED_25 = _rows(
    ("25 jobs",),
    edf=(0.08,),
    gandiva=(0.24,),
    tiresias=(0.32,),
    themis=(0.28,),
    chronus=(0.40,),
    pollux=(0.32,),
    elasticflow=(0.64,),
)  # fmt: skip

TESTBED_195 = _rows(
    ("195 jobs",),
    edf=(0.0872,),
    gandiva=(0.2103,),
    tiresias=(0.4564,),
    themis=(0.3897,),
    chronus=(0.4103,),
    elasticflow=(0.6667,),
)  # fmt: skip

POLLUX_WORKLOAD = _rows(
    ("195 jobs",),
    edf=(0.118,),
    gandiva=(0.09,),
    tiresias=(0.287,),
    themis=(0.312,),
    chronus=(0.262,),
    pollux=(0.523,),
    elasticflow=(0.728,),
)  # fmt: skip

CLUSTERS = _rows(
    ("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "Philly"),
    edf=(0.182, 0.228, 0.095, 0.007, 0.375, 0.105, 0.046, 0.252, 0.800, 0.769, 0.01),
    gandiva=(0.246, 0.286, 0.314, 0.228, 0.228, 0.381, 0.351, 0.325, 0.329, 0.354, 0.15),
    tiresias=(0.478, 0.470, 0.401, 0.120, 0.420, 0.466, 0.346, 0.373, 0.468, 0.473, 0.32),
    themis=(0.464, 0.431, 0.389, 0.432, 0.430, 0.425, 0.437, 0.423, 0.456, 0.431, 0.33),
    chronus=(0.474, 0.445, 0.426, 0.450, 0.453, 0.432, 0.460, 0.447, 0.466, 0.454, 0.324),
    elasticflow=(0.788, 0.822, 0.455, 0.631, 0.832, 0.607, 0.665, 0.896, 0.938, 0.981, 0.87),
)

INGREDIENTS = _rows(
    ("64", "128", "256"),
    edf=(0.026, 0.118, 0.118),
    edf_admission=(0.203, 0.326, 0.658),
    elasticflow_no_admission=(0.452, 0.835, 0.939),
    elasticflow=(0.926, 0.949, 0.944),
)

SHARES = ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9")
"""Of jobs without a deadline."""

BEST_EFFORT_RATIO = _rows(
    SHARES,
    edf=(0.09, 0.10, 0.15, 0.15, 0.23, 0.28, 0.44, 0.79, 0.95),
    gandiva=(0.25, 0.24, 0.20, 0.18, 0.19, 0.17, 0.18, 0.18, 0.16),
    tiresias=(0.46, 0.46, 0.44, 0.42, 0.43, 0.41, 0.44, 0.50, 0.53),
    themis=(0.41, 0.40, 0.37, 0.34, 0.36, 0.34, 0.35, 0.42, 0.37),
    chronus=(0.42, 0.42, 0.40, 0.37, 0.40, 0.39, 0.42, 0.50, 0.53),
    elasticflow=(0.74, 0.67, 0.67, 0.69, 0.68, 0.76, 0.82, 0.92, 0.95),
)

BEST_EFFORT_JCT = _rows(
    SHARES,
    edf=(0.05, 0.05, 0.05, 0.05, 0.07, 0.07, 0.08, 0.08, 0.10),
    gandiva=(1.0,) * 9,
    tiresias=(1.44, 1.39, 1.33, 1.31, 1.26, 1.27, 1.28, 1.30, 1.45),
    themis=(1.37, 1.36, 1.34, 1.32, 1.26, 1.27, 1.29, 1.29, 1.46),
    chronus=(1.50, 1.45, 1.40, 1.38, 1.29, 1.29, 1.28, 1.29, 1.44),
    elasticflow=(1.60, 1.37, 1.18, 1.11, 1.27, 1.24, 1.19, 1.16, 1.31),
)
