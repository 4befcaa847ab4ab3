r"""Text that cannot command a terminal: control and bidirectional formatting characters are shown as escapes. Pure.

Names, reasons, log lines and error messages come from other users and from programs. Written to a terminal as they are,
they could set its title or clipboard, clear it, or reorder what stands beside them. Here `ESC` becomes the four
characters `\x1b`, and U+202E becomes `\u202e`; all other text stays as it is.
"""

from __future__ import annotations

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
"""C0 except tab and newline, DEL, C1 (some terminals obey it like ESC sequences), and Unicode's line separators."""
_BIDI = r"\u202a-\u202e\u2066-\u2069"
"""Embeddings, overrides and isolates: they change the order of text around them, too."""
_SURROGATES = r"\ud800-\udfff"
"""Halves of characters: they cannot be encoded, so writing them would fail."""
_UNSAFE = re.compile(f"[{_CONTROLS}{_BIDI}{_SURROGATES}]")
_UNSAFE_IN_LINE = re.compile(f"[\\t\\n{_CONTROLS}{_BIDI}{_SURROGATES}]")
_COLOUR = re.compile(r"(\x1b\[[0-9;:]*m)")
"""Select Graphic Rendition: colours and weights, which end with a reset."""
_RESET = "\x1b[0m"


def safe_text(text: str) -> str:
    """The text with control characters escaped, except newlines and tabs."""
    return _UNSAFE.sub(_escape, text)


def safe_line(text: str) -> str:
    """The same for text that must stay in its line or cell: newlines and tabs are escaped, too."""
    return _UNSAFE_IN_LINE.sub(_escape, text)


def safe_coloured_line(text: str) -> str:
    """A line as a program printed it for a terminal: its colours stay and end with the line, the rest is escaped."""
    parts = _COLOUR.split(text)
    if len(parts) == 1:
        return safe_text(text)
    kept = (part if index % 2 else safe_text(part) for index, part in enumerate(parts))
    return "".join(kept) + _RESET


def safe_json(text: str) -> str:
    r"""JSON text that means the same, with unsafe characters of its strings written as `\uXXXX`."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")
