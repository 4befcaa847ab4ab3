"""Traces as plain values, so that tests can compare them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from tenuto.sim.trace import Trace


def columns_of(trace: Trace) -> dict[str, Any]:
    """All columns of a trace, without its name, its file and its lines."""
    columns = {}
    for field in fields(trace):
        value = getattr(trace, field.name)
        if field.name not in ("name", "source", "line"):
            columns[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
    return columns
