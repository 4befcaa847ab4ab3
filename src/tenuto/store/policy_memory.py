"""A policy's memory as a JSON value, and back: frozen dataclasses of columns, numbers and each other. No pickle.

Only classes of the policy's own modules are built again, and only dataclasses; what cannot be read, because another
version or another policy wrote it, is None, and the policy begins anew.
"""

from __future__ import annotations

import base64
import math
import sys
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tenuto.policy.base import Policy

OURS = ("tenuto.policy", "tenuto.model")
"""Where the memories of the built-in policies are defined; others may build on them."""
PLAIN = "biuf"
"""Kinds of numbers that a column may hold: never objects."""


class Unreadable(ValueError):
    """The value was not written by `encode`, or not for this policy."""


def encode(value: Any) -> Any:
    """The value as JSON can hold it. Raises TypeError for what no memory should hold."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.ndarray | np.generic):
        return _column(value)
    if isinstance(value, tuple | list):
        return {type(value).__name__: [encode(inner) for inner in value]}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(inner)] for key, inner in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        inside = {field.name: encode(getattr(value, field.name)) for field in fields(value)}
        return {"class": f"{type(value).__module__}:{type(value).__qualname__}", "fields": inside}
    raise TypeError(f"a policy's memory cannot hold a {type(value).__name__}")


def decode(value: Any, policy: Policy) -> Any:
    """What was encoded; None if it cannot be read for this policy."""
    try:
        return _decode(value, _roots(policy))
    except (Unreadable, ValueError, TypeError, KeyError, AttributeError):
        return None


def _column(value: np.ndarray[Any, Any] | np.generic) -> dict[str, Any]:
    array = np.asarray(value)
    if array.dtype.kind not in PLAIN:
        raise TypeError(f"a policy's memory cannot hold a column of {array.dtype}")
    return {
        "column": base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii"),
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "frozen": isinstance(value, np.generic) or not array.flags.writeable,
        "scalar": isinstance(value, np.generic),
    }


def _roots(policy: Policy) -> tuple[str, ...]:
    """The modules whose classes may be built: ours, and the package or file in which the policy stands."""
    home = getattr(policy.decide, "__module__", None) or type(policy.decide).__module__
    # A policy in a file has the file's path for a module name.
    own = home if "/" in home else home.partition(".")[0]
    return OURS if own == "tenuto" else (*OURS, own)


def _decode(value: Any, roots: tuple[str, ...]) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise Unreadable("a list without a name")
        return value
    match value:
        case {"float": text}:
            return float(text)
        case {"column": _}:
            return _read_column(value)
        case {"tuple": list(inner)}:
            return tuple(_decode(one, roots) for one in inner)
        case {"list": list(inner)}:
            return [_decode(one, roots) for one in inner]
        case {"dict": list(pairs)}:
            return {_decode(key, roots): _decode(one, roots) for key, one in pairs}
        case {"class": str(name), "fields": dict(inside)}:
            return _built(name, {field: _decode(one, roots) for field, one in inside.items()}, roots)
    raise Unreadable("nothing that encode writes")


def _read_column(value: dict[str, Any]) -> Any:
    dtype = np.dtype(value["dtype"])
    if dtype.kind not in PLAIN:
        raise Unreadable(f"a column of {dtype}")
    raw = base64.b64decode(value["column"], validate=True)
    column = np.frombuffer(raw, dtype=dtype).reshape(value["shape"]).copy()
    if value["scalar"]:
        return column[()]
    # Kernels are compiled once for read-only columns and once for others.
    column.setflags(write=not value["frozen"])
    return column


def _built(name: str, inside: dict[str, Any], roots: tuple[str, ...]) -> Any:
    module, _, qualified = name.partition(":")
    if not any(module == root or module.startswith(f"{root}.") for root in roots):
        raise Unreadable(f"{module} is none of the policy's modules")
    found: Any = sys.modules[module]  # whoever uses the policy has imported it
    for part in qualified.split("."):
        found = getattr(found, part)
    if not isinstance(found, type) or not is_dataclass(found) or found.__module__ != module:
        raise Unreadable(f"{name} is no dataclass")
    if {field.name for field in fields(found) if field.init} != set(inside):
        raise Unreadable(f"{name} has other fields now")
    return found(**inside)
