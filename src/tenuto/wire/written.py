"""YAML whose values know where they stand, read without YAML's surprises: a date stays the text that it was.

Only `true` and `false` are truths (Norway's `no` is a text), `1:30` is no number, and `1e3` is one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from tenuto.errors import InputInvalid, Place

Path = tuple[str | int, ...]
Locate = Callable[[int, int], Place]
"""From a line and a column, both counted from 0, to what a reader of the file sees."""
_NUMBER_STARTS = list("-+0123456789.")
_PLAIN_TAGS = ("tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
AS_TEXT = frozenset({"env", "labels"})
"""Mappings whose values are texts: `1.10` stays `1.10` and `true` stays `true`."""
MOST_VALUES = 100_000
"""Of one document, those counted again that stand for others: a few lines of aliases can mean billions."""
_LONGEST_NUMBER = 400


class PlainLoader(yaml.SafeLoader):
    """Reads texts, numbers, truths, lists and mappings."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  as its parent declares it; filled below

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        """Digits, and nothing but digits: no octal, no sexagesimal numbers."""
        digits = self.construct_scalar(node)
        if len(digits) > _LONGEST_NUMBER:
            raise yaml.constructor.ConstructorError(
                None, None, f"a number of {len(digits)} digits", node.start_mark
            )
        return int(digits)


def _resolve(tag: str, pattern: str, first: list[str]) -> None:
    PlainLoader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(pattern), first)


_resolve("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", list("tTfF"))
_resolve("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""])
_resolve("int", r"^[-+]?[0-9]+$", _NUMBER_STARTS)
_resolve("float", r"^[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", _NUMBER_STARTS)
_resolve("merge", r"^<<$", ["<"])
PlainLoader.add_constructor("tag:yaml.org,2002:int", PlainLoader.construct_yaml_int)


@dataclass(frozen=True, slots=True)
class Written:
    """A mapping as it was written, and the place of each of its keys and values."""

    values: dict[str, Any]
    file: str
    keys: Mapping[Path, Place] = field(default_factory=dict)
    scalars: Mapping[Path, Place] = field(default_factory=dict)

    def place(self, path: Path, *, key: bool = False) -> Place:
        """Where something stands, or else the nearest thing that it is part of."""
        for end in range(len(path), 0, -1):
            found = self.keys.get(path[:end])
            if not key:
                found = self.scalars.get(path[:end], found)
            if found is not None:
                return found
        return self.keys.get((), Place(self.file))


def read_documents(text: str, file: str, locate: Locate | None = None) -> list[Written]:
    """Every mapping of a YAML text; documents without content are passed over."""
    where = locate or (lambda line, column: Place(file, line + 1, column + 1))
    try:
        loader = PlainLoader(text)
    except yaml.YAMLError as error:
        raise _not_yaml(error, file, where) from None
    try:
        return [_document(loader, node, file, where) for node in _nodes(loader) if not _is_empty(node)]
    except yaml.YAMLError as error:
        raise _not_yaml(error, file, where) from None
    except RecursionError:
        raise InputInvalid(
            "the brackets are nested too deeply", remedy="Write it flat", place=Place(file)
        ) from None
    finally:
        loader.dispose()


def _nodes(loader: PlainLoader) -> Iterator[yaml.Node]:
    while loader.check_node():
        node = loader.get_node()
        if node is not None:
            yield node


def _is_empty(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and not node.value and node.style is None


def _document(loader: PlainLoader, node: yaml.Node, file: str, where: Locate) -> Written:
    if not isinstance(node, yaml.MappingNode):
        raise InputInvalid(
            "there is no mapping here",
            remedy="Write keys with values, such as name: train",
            place=_at(node, where),
        )
    reader = _Reader(loader, where)
    values = reader.value(node, ())
    return Written(values, file, reader.keys, reader.scalars)


def _at(node: yaml.Node, where: Locate) -> Place:
    return where(node.start_mark.line, node.start_mark.column)


class _Reader:
    """Turns nodes into values and remembers the places of both."""

    def __init__(self, loader: PlainLoader, where: Locate) -> None:
        self.keys: dict[Path, Place] = {}
        self.scalars: dict[Path, Place] = {}
        self._loader = loader
        self._where = where
        self._above: list[yaml.Node] = []
        self._count = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._count += 1
        if self._count > MOST_VALUES:
            raise InputInvalid(
                f"these are more than {MOST_VALUES:,} values",
                remedy="Write fewer, and each where it is needed instead of *name",
                place=_at(node, self._where),
            )
        self.keys.setdefault(path, _at(node, self._where))
        if isinstance(node, yaml.ScalarNode):
            self.scalars[path] = _at(node, self._where)
            return node.value if path[:-1] and path[0] in AS_TEXT else self._loader.construct_object(node)
        if any(node is above for above in self._above):
            raise InputInvalid("a value contains itself", remedy="Write it out", place=_at(node, self._where))
        if node.tag not in _PLAIN_TAGS:
            place = _at(node, self._where)
            raise InputInvalid(f"{node.tag} has no meaning here", remedy="Leave the tag out", place=place)
        self._above.append(node)
        inside = self._list(node, path) if isinstance(node, yaml.SequenceNode) else self._mapping(node, path)
        self._above.pop()
        return inside

    def _list(self, node: yaml.SequenceNode, path: Path) -> list[Any]:
        return [self.value(below, (*path, number)) for number, below in enumerate(node.value)]

    def _mapping(self, node: yaml.Node, path: Path) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        for key_node, below in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                merged |= self._merged(below, path)
                continue
            key, place = self._key(key_node), _at(key_node, self._where)
            if key in values:
                raise InputInvalid(f"{key!r} stands here twice", remedy="Keep one of the two", place=place)
            self.keys[*path, key] = place
            values[key] = self.value(below, (*path, key))
        return {**merged, **values}

    def _merged(self, node: yaml.Node, path: Path) -> dict[Any, Any]:
        """What `<<` brings in; of several mappings the first that has a key gives its value."""
        parts = node.value if isinstance(node, yaml.SequenceNode) else [node]
        values: dict[Any, Any] = {}
        for part in reversed(parts):
            if not isinstance(part, yaml.MappingNode):
                place = _at(part, self._where)
                raise InputInvalid("<< wants a mapping", remedy="Write <<: *name", place=place)
            values |= self.value(part, path)
        return values

    def _key(self, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            place = _at(node, self._where)
            raise InputInvalid("a key is a list or a mapping", remedy="Write a plain key", place=place)
        return self._loader.construct_object(node)


def _not_yaml(error: yaml.YAMLError, file: str, where: Locate) -> InputInvalid:
    mark = getattr(error, "problem_mark", None)
    # What was begun and never ended is noticed only further down: there nothing is wrong.
    if any(word in (getattr(error, "context", None) or "") for word in ("flow", "quoted", "simple key")):
        mark = getattr(error, "context_mark", None) or mark
    told = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return InputInvalid(
        f"this is not YAML: {told}",
        remedy="Check brackets, quotation marks, and the blanks at the beginning of the line",
        place=Place(file) if mark is None else where(mark.line, mark.column),
    )
