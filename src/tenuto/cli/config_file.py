"""The settings of a platform from a YAML file or the environment; whatever is unknown is refused with its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

from tenuto.cli.settings_layers import Given, named_in
from tenuto.errors import Place
from tenuto.lab.written import Written, parse_yaml, read_yaml
from tenuto.model.snapshot import Placement
from tenuto.settings import Settings


def read_config(path: Path) -> Given:
    """Read a file; a group or a field that is left out keeps its value."""
    return given_in(read_written(path))


def read_written(path: Path) -> Written:
    """The file as it is written, whatever it says."""
    return read_yaml(path, purpose="Write settings in it, or leave the option out")


def given_in(written: Written) -> Given:
    """The settings that stand in a file."""
    return {
        name: {
            key: _value(entry, kinds_of(name)[key])
            for key, entry in group.mapping(list(kinds_of(name))).items()
        }
        for name, group in written.mapping(groups()).items()
    }


def read_environment(environment: Mapping[str, str]) -> Given:
    """The settings that variables such as TENUTO_NODES_TIMEOUT give; other variables are somebody else's."""
    given: dict[str, dict[str, Any]] = {}
    for name, (group, field) in named_in(environment).items():
        kind, text = kinds_of(group)[field], environment[name]
        entry = Written(text, Place(name)) if kind is str else parse_yaml(text, name)
        given.setdefault(group, {})[field] = _value(entry, kind)
    return given


def groups() -> list[str]:
    """The groups of settings."""
    return [group.name for group in fields(Settings)]


def kinds_of(group: str) -> dict[str, Any]:
    """The fields of a group and what stands in them."""
    return get_type_hints(get_type_hints(Settings)[group])


def _value(entry: Written, kind: Any) -> Any:
    if entry.value is None and kind == float | None:
        return None
    readers: dict[Any, Callable[[Written], Any]] = {
        float: Written.number,
        float | None: Written.number,
        int: Written.whole,
        str: Written.text,
        bool: Written.truth,
        Mapping[str, str]: _texts,
        Placement: lambda one: Placement(one.one_of([str(placement) for placement in Placement])),
    }
    return readers[kind](entry)


def _texts(entry: Written) -> dict[str, str]:
    """A mapping of names to texts, some of which may be empty."""
    named = entry.entries("Write a mapping, such as {NAME: value}")
    return {name: "" if one.value == "" else one.text() for name, one in named.items()}
