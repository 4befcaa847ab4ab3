"""Settings of policies: what can be set, what it means, and a policy set differently.

A policy with settings is a frozen dataclass: its fields are the settings, and the docstring under a field says
what it means. So a setting is told of in one place, where it is used.
"""

from __future__ import annotations

import ast
import inspect
import math
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.policy.base import Policy
from tenuto.suggest import did_you_mean

KINDS = {"float": "a number", "int": "a whole number", "str": "a word", "bool": "true or false"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set."""

    name: str
    kind: str
    """`float`, `int`, `str` or `bool`."""
    value: Any
    description: str


def settings_of(policy: Policy) -> tuple[Setting, ...]:
    """What can be set, as it is set now."""
    decide = policy.decide
    if not is_dataclass(decide):
        return ()
    told = _docstrings(type(decide))
    return tuple(
        Setting(field.name, _kind(field.type), getattr(decide, field.name), told.get(field.name, ""))
        for field in fields(decide)
        if field.init and _kind(field.type) in KINDS
    )


def tuned(policy: Policy, wishes: Mapping[str, object]) -> Policy:
    """Set a policy differently; a wish may be a text, as on a command line, or a value, as in a file."""
    known = {setting.name: setting for setting in settings_of(policy)}
    values = {}
    for name, wish in wishes.items():
        if name not in known:
            raise _unknown(policy, name, known)
        values[name] = _value(policy, known[name], wish)
    try:
        return policy.tuned(**values)
    except ValueError as error:
        raise InputInvalid(
            f"{policy.name} cannot be set like that: {error}", remedy="Choose other values"
        ) from error


def _unknown(policy: Policy, name: str, known: Mapping[str, Setting]) -> InputInvalid:
    listed = f"It has {', '.join(known)}" if known else "It has none"
    return InputInvalid(
        f"policy {policy.name} has no setting {name!r}", remedy=did_you_mean(name, known) + listed
    )


def _value(policy: Policy, setting: Setting, wish: object) -> object:
    read = {"float": _number, "int": _whole_number, "str": _word, "bool": _flag}[setting.kind]
    value = read(wish)
    if value is None:
        raise InputInvalid(
            f"{policy.name}.{setting.name} cannot be {wish!r}",
            remedy=f"Give it {KINDS[setting.kind]}, e.g. {_written(setting.value)}",
        )
    return value


def _number(wish: object) -> float | None:
    if isinstance(wish, bool) or not isinstance(wish, str | int | float):
        return None
    try:
        number = float(wish)
    except (ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def _whole_number(wish: object) -> int | None:
    number = _number(wish)
    if number is None or math.isinf(number) or number != int(number):
        return None
    # A text of many digits is not to be rounded on the way.
    return int(number) if not isinstance(wish, str) or "e" in wish.lower() or "." in wish else int(wish)


def _word(wish: object) -> str | None:
    return wish if isinstance(wish, str) and wish else None


def _flag(wish: object) -> bool | None:
    return wish if isinstance(wish, bool) else {"true": True, "false": False}.get(str(wish).lower())


def _written(value: object) -> str:
    """A value as a user would write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(annotation: object) -> str:
    """The name of a field's type, which is a text where annotations are not evaluated."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def _docstrings(kind: type) -> dict[str, str]:
    """What the docstrings under the fields of a dataclass and of those before it say."""
    told: dict[str, str] = {}
    for one in reversed(kind.__mro__):
        if is_dataclass(one):
            told |= _own_docstrings(one)
    return told


def _own_docstrings(kind: type) -> dict[str, str]:
    try:
        [written] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, SyntaxError):  # without its source a policy works all the same
        return {}
    assert isinstance(written, ast.ClassDef)
    told = {}
    for field, below in pairwise(written.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                told[name] = " ".join(text.split())
    return told
