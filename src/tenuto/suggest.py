"""Guessing what a user meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 200
"""Characters of a name for which a suggestion is looked for: the time for one grows with its length."""
CUTOFF = 0.5
"""How alike two names must be: short names such as n16g8 differ from a mistyped one in much of their length."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Begin a remedy with the closest known name, if one is close."""
    if len(name) > LONGEST_NAME:
        return ""
    close = get_close_matches(name, list(known), n=1, cutoff=CUTOFF)
    return f"Did you mean {close[0]}? " if close else ""
