"""YAML whose values know where they stand, so that every complaint can name the line."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import yaml

from tenuto.errors import InputInvalid, Place
from tenuto.sim.table import plain_number, read_text
from tenuto.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Written:
    """A value of a file: None, a text, a number, a truth, a list of these, or a mapping to these by text."""

    value: Any
    place: Place

    def refuse(self, problem: str, remedy: str) -> NoReturn:
        """Complain about this value."""
        raise InputInvalid(problem, remedy=remedy, place=self.place)

    def mapping(self, known: Sequence[str]) -> Mapping[str, Written]:
        """The value as a mapping that has none but the known keys."""
        entries = self.entries(f"Write a mapping with {', '.join(known)}")
        for key, entry in entries.items():
            if key not in known:
                entry.refuse(
                    f"there is no key {key!r}", f"{did_you_mean(key, known)}Known are {', '.join(known)}"
                )
        return entries

    def entries(self, remedy: str) -> Mapping[str, Written]:
        """The value as a mapping with any keys."""
        if not isinstance(self.value, dict):
            self.refuse(f"{self.shown} is no mapping", remedy)
        return self.value

    def each(self) -> list[Written]:
        """The values of a list, or the one value that stands here instead of a list."""
        if isinstance(self.value, list):
            if not self.value:
                self.refuse("the list is empty", "Write at least one value, or leave the key out")
            return self.value
        return [self]

    def text(self) -> str:
        """The value as a text; a number is taken as it was written."""
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if not number and (not isinstance(self.value, str) or not self.value):
            self.refuse(f"{self.shown} is no name", "Write a name, in quotation marks if need be")
        return str(self.value)

    def number(self, least: float = 0.0) -> float:
        """The value as a number that is not too small."""
        # YAML takes 1e3 for a text, since there is no point in it.
        value = plain_number(self.value) if isinstance(self.value, str) else self.value
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or value < least:
            self.refuse(f"{self.shown} cannot be used", f"Write a number of {least:g} or more")
        return float(value)

    def whole(self, least: int = 0) -> int:
        """The value as a whole number that is not too small."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < least:
            self.refuse(f"{self.shown} cannot be used", f"Write a whole number of {least} or more")
        return self.value

    def truth(self) -> bool:
        """The value as yes or no."""
        if not isinstance(self.value, bool):
            self.refuse(f"{self.shown} cannot be used", "Write true or false")
        return self.value

    def one_of(self, known: Sequence[str]) -> str:
        """The value as one of a few words."""
        if self.value not in known:
            self.refuse(
                f"{self.shown} is unknown here",
                f"{did_you_mean(str(self.value), known)}Known are {', '.join(known)}",
            )
        return str(self.value)

    @contextmanager
    def blamed(self) -> Iterator[None]:
        """Let complaints that name no place name this one."""
        try:
            yield
        except InputInvalid as error:
            if error.place is not None:
                raise
            raise InputInvalid(error.problem, remedy=error.remedy, place=self.place) from None

    @property
    def shown(self) -> str:
        """The value as a complaint shows it."""
        if isinstance(self.value, dict):
            return "a mapping"
        return "a list" if isinstance(self.value, list) else repr(self.value)


def read_yaml(path: Path, *, purpose: str = "Describe an experiment in it") -> Written:
    """Read a YAML file; `purpose` is what to do about an empty one."""
    return parse_yaml(read_text(path), str(path), purpose=purpose)


def parse_yaml(text: str, name: str, *, purpose: str = "Write a value") -> Written:
    """Read YAML that comes from whatever is called `name`."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            raise InputInvalid("the file is empty", remedy=purpose, place=Place(name))
        return _written(loader, node, name, ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise InputInvalid(
            f"is not YAML: {getattr(error, 'problem', None) or error}",
            remedy="Check brackets, quotation marks and the blanks at the beginning of the line",
            place=Place(name, None if mark is None else mark.line + 1),
        ) from None
    finally:
        loader.dispose()


def _written(loader: yaml.SafeLoader, node: yaml.Node, file: str, above: tuple[int, ...]) -> Written:
    place = Place(file, node.start_mark.line + 1)
    if id(node) in above:
        raise InputInvalid("a value contains itself", remedy="Write it out", place=place)
    inside = (*above, id(node))
    if isinstance(node, yaml.SequenceNode):
        return Written([_written(loader, below, file, inside) for below in node.value], place)
    if not isinstance(node, yaml.MappingNode):
        return Written(loader.construct_object(node), place)
    entries: dict[str, Written] = {}
    for key_node, below in node.value:
        key_place = Place(file, key_node.start_mark.line + 1)
        key = _written(loader, key_node, file, inside).text()
        if key in entries:
            raise InputInvalid(f"{key!r} stands here twice", remedy="Keep one of the two", place=key_place)
        # A complaint about a list or mapping should name the line of its key.
        entries[key] = Written(_written(loader, below, file, inside).value, key_place)
    return Written(entries, place)
