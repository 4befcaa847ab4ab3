"""Options of the form KEY=VALUE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tenuto.errors import InputInvalid


def pairs(given: Iterable[str], option: str) -> dict[str, str]:
    """The values by their keys, as texts."""
    found: dict[str, str] = {}
    for one in given:
        key, sign, value = one.partition("=")
        if not sign or not key:
            raise InputInvalid(f"{option} {one!r} has no key and value", remedy=f"Write {option} KEY=VALUE")
        found[key] = value
    return found


def values(given: Iterable[str], option: str = "--set") -> dict[str, Any]:
    """The values by their keys, read as a job file reads them: numbers, truths, {mappings}, [lists], texts."""
    return {key: value_of(text, f"{option} {key}") for key, text in pairs(given, option).items()}


def value_of(text: str, option: str) -> Any:
    """One value as a job file reads it; `none` is no value."""
    if text.strip().lower() == "none":
        return None
    from tenuto.wire.written import read_documents  # YAML only where a value is read

    try:
        [document] = read_documents(f"value: {text}", option)
    except InputInvalid as error:
        raise InputInvalid(f"{option}: {error.problem}", remedy=error.remedy) from None
    return document.values["value"]
