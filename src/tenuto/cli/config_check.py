"""Reads settings leniently: everything that is wrong is found at once, and what is unknown is only pointed out."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from tenuto.cli.config_file import given_in, groups, kinds_of, read_environment, read_written
from tenuto.cli.home import Home
from tenuto.cli.settings_layers import PREFIX, Given
from tenuto.errors import InputInvalid
from tenuto.lab.written import Written
from tenuto.suggest import did_you_mean


class Complaints(Protocol):
    """Where what is found goes."""

    warnings: list[str]
    errors: list[str]


def check_file(path: Path, found: Complaints) -> Given:
    """What can be used of a file."""
    try:
        written = read_written(path)
        entries = written.entries(f"Write a mapping with {', '.join(groups())}")
    except InputInvalid as error:
        found.errors.append(str(error))
        return {}
    given: dict[str, dict[str, Any]] = {}
    for group, below in _known(entries, groups(), found).items():
        try:
            fields = below.entries(f"Write a mapping with {', '.join(kinds_of(group))}")
        except InputInvalid as error:
            found.errors.append(str(error))
            continue
        for name, entry in _known(fields, list(kinds_of(group)), found).items():
            alone = Written({group: Written({name: entry}, below.place)}, written.place)
            _take(given, found, partial(given_in, alone))
    return given


def check_variables(environment: Mapping[str, str], found: Complaints) -> Given:
    """What can be used of the environment; a variable that looks like a setting and is none is pointed out."""
    given: dict[str, dict[str, Any]] = {}
    known = {f"{PREFIX}_{group}_{name}".upper() for group in groups() for name in kinds_of(group)}
    beginnings = tuple(f"{PREFIX}_{group}_".upper() for group in groups())
    for name in sorted(environment):
        if name in known:
            _take(given, found, partial(read_environment, {name: environment[name]}))
        elif name.startswith(beginnings):
            found.warnings.append(f"{name} names no setting. {did_you_mean(name, known)}".rstrip())
    return given


def stored_scheduling(home: Home) -> dict[str, Any]:
    """How rounds were decided last time, if the home's own store remembers it."""
    path = home.store_url.removeprefix("sqlite:///")
    if not Path(path).exists():
        return {}
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=2.0)) as store:
            row = store.execute("SELECT value FROM meta WHERE key = 'scheduling'").fetchone()
        told = json.loads(row[0]) if row else {}
    except (sqlite3.Error, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _known(entries: Mapping[str, Written], known: list[str], found: Complaints) -> dict[str, Written]:
    for name in entries.keys() - set(known):
        guess = did_you_mean(name, known) or f"Known are {', '.join(known)}"
        found.warnings.append(f"{entries[name].place}: there is no key {name!r}. {guess}".rstrip())
    return {name: entry for name, entry in entries.items() if name in known}


def _take(given: dict[str, dict[str, Any]], found: Complaints, read: Callable[[], Given]) -> None:
    try:
        for group, values in read().items():
            given.setdefault(group, {}).update(values)
    except InputInvalid as error:
        found.errors.append(str(error))
