"""What is wrong with a request, in plain sentences: where it stands, and what to write instead."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tenuto.errors import InputInvalid
from tenuto.suggest import did_you_mean
from tenuto.wire.quantities import Unusable

M = typing.TypeVar("M", bound=BaseModel)

MAX_PROBLEMS = 20
"""Problems of one request that are looked at: each may cost a suggestion, and an error names about half as many."""
MAX_PROBLEMS_NAMED = 10
"""Further problems that an error names."""
_LONGEST_SHOWN_KEY = 100
"""Characters of a key that an error shows."""

_EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "list": "a list",
    "tuple": "a list",
    "dict": "a mapping",
    "model": "a mapping",
    "model_attributes": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that must be changed."""

    path: tuple[str | int, ...]
    """The keys that lead to it; empty if it concerns the whole."""
    problem: str
    remedy: str

    @property
    def field(self) -> str | None:
        """The path with dots between, as the API names it."""
        return _dotted(self.path) or None


def validated(model: type[M], data: object) -> M:
    """Read a request, or say the first thing that is wrong with it and name the others."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise invalid(problems_in(error.errors(), model)) from None


def invalid(problems: Sequence[Problem]) -> InputInvalid:
    """One error for all problems: the first one in full."""
    first, *others = problems
    more = sorted({other.field for other in others if other.field and other.field != first.field})
    also = f" (also to be changed: {', '.join(more[:MAX_PROBLEMS_NAMED])})" if more else ""
    return InputInvalid(f"{first.problem}{also}", remedy=first.remedy, field=first.field)


def problems_in(errors: Sequence[ErrorDetails] | Sequence[Any], model: type[BaseModel]) -> list[Problem]:
    """Translate what the validation found: the first problems only, so that a request cannot demand endless work."""
    return [_problem(error, model) for error in errors[:MAX_PROBLEMS]]


def _problem(error: ErrorDetails, model: type[BaseModel]) -> Problem:
    path = tuple(part for part in error["loc"] if part != "[key]")
    told = error.get("ctx", {}).get("error")
    if isinstance(told, Unusable):
        path = (*path, *told.path)
    name = _dotted(path) or "the request"
    problem, remedy = _sentence(error, path, model)
    return Problem(path, f"{name}: {problem}", remedy)


def _sentence(error: ErrorDetails, path: tuple[str | int, ...], model: type[BaseModel]) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    told = context.get("error")
    if isinstance(told, Unusable):
        return told.problem, told.remedy
    if kind == "extra_forbidden":
        return _unknown_key(str(path[-1]), _known_keys(model, path[:-1]))
    if kind == "missing":
        return "is missing", "Add it"
    if kind in _BOUNDS:
        bound, words = _BOUNDS[kind]
        return f"{_shown(error['input'])} is out of range", f"Give {words} {context[bound]}"
    if kind in ("literal_error", "enum"):
        return f"{_shown(error['input'])} is not known", f"Write {context['expected']}"
    return _by_kind(kind, error)


def _by_kind(kind: str, error: ErrorDetails) -> tuple[str, str]:
    if kind == "string_unicode":
        return "half a character stands in it (a lone surrogate)", "Send UTF-8"
    if kind.startswith(("string_too_", "too_")):
        return error["msg"][:1].lower() + error["msg"][1:], "Change its length"
    kind = kind.removesuffix("_type").removesuffix("_parsing").removesuffix("_from_float")
    if kind in _EXPECTED:
        return f"{_shown(error['input'])} is not {_EXPECTED[kind]}", f"Give {_EXPECTED[kind]}"
    return error["msg"][:1].lower() + error["msg"][1:], "Compare it with the documentation of the API"


def _unknown_key(key: str, known: Sequence[str]) -> tuple[str, str]:
    guess = did_you_mean(key, known).strip()
    return "there is no such key", guess or f"Known are {', '.join(known)}"


def _known_keys(model: type[BaseModel], path: tuple[str | int, ...]) -> list[str]:
    """The keys of the mapping at a path inside a model."""
    kinds: list[Any] = [model]
    for part in path:
        kinds = [inner for kind in kinds for inner in _inside(kind, part)]
    return sorted({name for kind in kinds for name in kind.model_fields})


def _inside(kind: type[BaseModel], part: str | int) -> Iterator[type[BaseModel]]:
    """The models one step further; a key of a mapping of models leads to that same model."""
    field = kind.model_fields.get(str(part))
    if field is None:
        yield kind
    else:
        yield from _models_of(field.annotation)


def _models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_of(argument)


def _dotted(path: tuple[str | int, ...]) -> str:
    """The keys of a path with dots between, each cut to a bearable length."""
    return ".".join(str(part)[:_LONGEST_SHOWN_KEY] for part in path)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = "nothing" if value is None else str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
