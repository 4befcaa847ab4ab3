"""The settings of a platform from a YAML file; whatever is unknown is refused with its line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from tenuto.cli.settings_layers import Given
from tenuto.lab.written import Written, read_yaml
from tenuto.model.snapshot import Placement
from tenuto.settings import Settings


def read_config(path: Path) -> Given:
    """Read a file; a group or a field that is left out keeps its value."""
    written = read_yaml(path, purpose="Write settings in it, or leave the option out")
    groups = {group.name: group.type for group in fields(Settings)}
    hints = get_type_hints(Settings)
    return {
        name: {
            key: _value(entry, get_type_hints(hints[name])[key])
            for key, entry in _entries(group, hints[name])
        }
        for name, group in written.mapping(list(groups)).items()
    }


def _entries(group: Written, kind: Any) -> list[tuple[str, Written]]:
    known = [field.name for field in fields(kind)]
    return list(group.mapping(known).items())


def _value(entry: Written, kind: Any) -> Any:
    if entry.value is None and kind == float | None:
        return None
    readers: dict[Any, Callable[[Written], Any]] = {
        float: Written.number,
        float | None: Written.number,
        int: Written.whole,
        str: Written.text,
        Placement: lambda one: Placement(one.one_of([str(placement) for placement in Placement])),
    }
    return readers[kind](entry)
