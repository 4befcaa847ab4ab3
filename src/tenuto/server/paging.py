"""Lists come in pages: a cursor is where the next page begins, and nothing a client should read anything into."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection
from typing import Annotated

from pydantic import AfterValidator, Field

from tenuto.errors import InputInvalid
from tenuto.suggest import did_you_mean
from tenuto.wire.quantities import Unusable

MOST = 500
"""Records of one page."""
_LARGEST = 1 << 62


def _plain(text: str) -> str:
    if "\0" in text:
        raise Unusable("a NUL character stands in it", "Leave it out")
    return text


Limit = Annotated[int, Field(ge=1, le=MOST)]
Skip = Annotated[int, Field(ge=0, le=1 << 31)]
Text = Annotated[str, Field(max_length=200), AfterValidator(_plain)]


def known_order(known: Collection[str]) -> Callable[[str], str]:
    """Checks the name of an order; a minus before it turns it round."""

    def check(text: str) -> str:
        name = text.removeprefix("-")
        if name not in known:
            guess = did_you_mean(name, list(known)).strip()
            raise Unusable(f"there is no order {name[:60]!r}", guess or f"Known are {', '.join(known)}")
        return text

    return check


def cursor_of(number: int) -> str:
    """Where the next page begins, for a client."""
    return base64.urlsafe_b64encode(f"v1:{number}".encode()).decode().rstrip("=")


def number_in(cursor: str) -> int | None:
    """What `cursor_of` was given; None for the first page."""
    if not cursor:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except (binascii.Error, ValueError):
        text = ""
    version, _, number = text.partition(":")
    if version != "v1" or not number.isascii() or not number.isdigit() or int(number) > _LARGEST:
        raise InputInvalid("this is no cursor of ours", remedy="Use next of the page before", field="cursor")
    return int(number)
