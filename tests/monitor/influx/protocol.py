"""Reads line protocol as the specification has it, so that a test sees what a database will see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """One point."""

    measurement: str
    tags: dict[str, str]
    fields: dict[str, float | int]
    at: int


def read(text: str) -> Line:
    """A line; raises ValueError for what is none."""
    if "\n" in text:
        raise ValueError("that is more than one line")
    series, fields, at = _split(text, " ")
    measurement, *tags = _split(series, ",")
    return Line(
        _plain(measurement),
        dict(_pair(tag) for tag in tags),
        {key: _number(value) for key, value in map(_pair, _split(fields, ","))},
        int(at),
    )


def _split(text: str, at: str) -> list[str]:
    """Apart at every such character that no backslash stands before."""
    parts = [""]
    for before, character in zip(" " + text, text, strict=False):
        if character == at and before != "\\":
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _pair(text: str) -> tuple[str, str]:
    key, value = _split(text, "=")
    if not key or not value:
        raise ValueError(f"{text!r} lacks a key or a value")
    return _plain(key), _plain(value)


def _plain(text: str) -> str:
    for special in ",= ":
        text = text.replace(f"\\{special}", special)
    return text


def _number(text: str) -> float | int:
    if text.endswith("i"):
        return int(text[:-1])
    if text.lower().strip("+-") in ("nan", "inf", "infinity"):
        raise ValueError(f"{text} is no number")
    return float(text)
