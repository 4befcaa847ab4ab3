"""The fields of a form and the keys of a job, each as the other has it. Pure.

A form shows the common keys. What it cannot show stays in the job as it is, as long as nobody changes that field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tenuto.dashboard.job_text import FILE, command_line
from tenuto.errors import InputInvalid
from tenuto.wire.quantities import Unusable, worker_range
from tenuto.wire.written import read_documents

PLAIN = ("name", "deadline", "workdir", "environment", "node", "max_duration")
"""Fields that are keys with a text."""
CHOICES = {"strategy": ("command", "allreduce"), "priority": ("normal", "urgent")}
"""Keys with a few possible values, the usual one first."""
PAIRS = ("labels", "env")
KEYS = {
    **{name: name for name in (*PLAIN, *CHOICES, *PAIRS, "run", "curve", "after", "checkpoint")},
    "least": "workers",
    "most": "workers",
    "amount": "total",
    "unit": "total",
}
"""Which key each field is about."""
_LONGEST_CURVE = 5000
_PAIR = re.compile(r"([^=\s][^=]*?)\s*=\s*(.*)")


def fields_in(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a form shows of a job; empty where it has no key, or one that a form cannot show."""
    least, most = _workers(values.get("workers"))
    amount, unit = _total(values.get("total"))
    shown: dict[str, Any] = {name: _text(values.get(name)) for name in PLAIN}
    for name, known in CHOICES.items():
        shown[name] = values[name] if values.get(name) in known else known[0]
    if values.get("urgent") is True:
        shown["priority"] = "urgent"
    return shown | {
        "run": command_line(values.get("run")),
        "least": least,
        "most": most,
        "amount": amount,
        "unit": unit,
        "curve": _curve(values.get("curve")),
        "after": _part(values.get("after"), "job"),
        "checkpoint": _part(values.get("checkpoint"), "dir"),
        **{name: _lines(values.get(name)) for name in PAIRS},
    }


def value_for(key: str, fields: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    """The value of a key as the fields have it; None if they say nothing. Raises InputInvalid."""
    match key:
        case "workers":
            return _range(_whole(fields["least"]), _whole(fields["most"]))
        case "total":
            return None if fields["amount"] is None else {fields["unit"]: _number(fields["amount"])}
        case "curve":
            return _read_curve(fields["curve"].strip())
        case "labels" | "env":
            return _read_pairs(key, fields[key])
        case "after":
            return _with_part(values.get(key), "job", fields[key].strip()) if fields[key].strip() else None
        case "checkpoint":
            return _with_part(values.get(key), "dir", fields[key].strip())
        case "strategy" | "priority":
            return None if fields[key] == CHOICES[key][0] else fields[key]
        case "run":
            return fields["run"].rstrip() or None
        case _:
            return fields[key].strip() or None


def _text(value: object) -> str:
    return (
        value
        if isinstance(value, str)
        else ""
        if value is None or isinstance(value, Mapping | list)
        else str(value)
    )


def _workers(written: object) -> tuple[int | None, int | None]:
    if isinstance(written, Mapping):
        written = f"{written.get('min', 1)}..{written.get('max')}"
    try:
        return (None, None) if written is None else worker_range(written)
    except Unusable:
        return None, None


def _range(least: int | None, most: int | None) -> int | str | None:
    if least is None and most is None:
        return None
    if least is None or most is None:
        return least or f"1..{most}"
    return least if least == most else f"{least}..{most}"


def _total(written: object) -> tuple[float | None, str]:
    if isinstance(written, Mapping):
        for unit in ("steps", "epochs"):
            if isinstance(written.get(unit), int | float):
                return written[unit], unit
        return None, "steps"
    plain = isinstance(written, int | float) and not isinstance(written, bool)
    return (written, "steps") if plain else (None, "steps")  # type: ignore[return-value]


def _number(amount: float) -> float:
    return int(amount) if float(amount).is_integer() else amount


def _whole(count: float | None) -> int | None:
    return None if count is None else int(count)


def _curve(written: object) -> str:
    if isinstance(written, Mapping):
        return ", ".join(f"{size}: {rate}" for size, rate in written.items())
    return _text(written)


def _read_curve(text: str) -> Any:
    """`auto`, or sizes with speeds; what is neither stays a text, and is complained about as one."""
    if not text or text == "auto" or len(text) > _LONGEST_CURVE:
        return text or None
    try:
        [read] = read_documents("{" + text.strip("{}") + "}", FILE)
    except (InputInvalid, ValueError):
        return text
    return read.values


def _lines(pairs: object) -> str:
    return "\n".join(f"{key}={value}" for key, value in pairs.items()) if isinstance(pairs, Mapping) else ""


def _read_pairs(key: str, text: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        pair = _PAIR.fullmatch(line)
        if pair is None:
            raise InputInvalid(
                f"{key}: {line[:60]!r} is no name with a value", remedy="Write name=value", field=key
            )
        found[pair[1]] = pair[2]
    return found or None


def _part(value: object, name: str) -> str:
    return _text(value.get(name)) if isinstance(value, Mapping) else _text(value)


def _with_part(value: object, name: str, text: str) -> Any:
    """A key that may be a text or a mapping: what else the mapping says stays."""
    if not isinstance(value, Mapping):
        return text or None
    rest = {key: one for key, one in value.items() if key != name}
    return {name: text, **rest} if text else rest or None
