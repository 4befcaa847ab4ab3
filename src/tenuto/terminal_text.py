r"""Text that cannot command a terminal: control and bidirectional formatting characters are shown as escapes. Pure.

Names, reasons, log lines and error messages come from other users and from programs. Written to a terminal as they are,
they could set its title or clipboard, clear it, or reorder the text beside them. Here `ESC` becomes the four
characters `\x1b`, and U+202E becomes `\u202e`; all other text stays as it is.
"""

from __future__ import annotations

import re

_CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"
"""C0 except tab and newline, DEL, C1 (some terminals obey it like ESC sequences), and Unicode's line separators."""
_BIDI = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
"""Marks, embeddings, overrides and isolates: they also change the order of the text around them."""
_SURROGATES = r"\ud800-\udfff"
"""Halves of characters: they cannot be encoded, so writing them would fail."""
_UNSAFE = re.compile(f"[{_CONTROLS}{_BIDI}{_SURROGATES}]")
_UNSAFE_IN_LINE = re.compile(f"[\\t\\n{_CONTROLS}{_BIDI}{_SURROGATES}]")
_SEQUENCE = re.compile(
    r"(?P<colour>\x1b\[[0-9;:]*m)"  # Select Graphic Rendition: colours and weights
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: cursor, erasing, modes
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b[0-OQ-WYZ`-~=>]"  # single functions, such as a full reset
)
"""Complete control sequences of ECMA-48 and xterm, without those that are cut off."""
_COLOUR_RESET = "\x1b[0m"


def safe_text(text: str) -> str:
    """The text with control characters escaped, except newlines and tabs."""
    return _UNSAFE.sub(_escape, text)


def safe_line(text: str) -> str:
    """The same for text that must stay in its line or cell: newlines and tabs are escaped, too."""
    return _UNSAFE_IN_LINE.sub(_escape, text)


def safe_coloured_text(text: str, *, keep: str = "") -> str:
    """Text that a program printed for a terminal: colours stay and end with the text, other sequences are dropped.

    Control characters that belong to no complete sequence are escaped, except newlines, tabs and those in `keep`.
    """
    kept: list[str] = []
    coloured = False
    position = 0
    for match in _SEQUENCE.finditer(text):
        kept.append(_safe_except(text[position : match.start()], keep))
        if colour := match["colour"]:
            kept.append(colour)
            coloured = colour not in (_COLOUR_RESET, "\x1b[m")
        position = match.end()
    kept.append(_safe_except(text[position:], keep))
    return "".join(kept) + (_COLOUR_RESET if coloured else "")


def safe_json(text: str) -> str:
    r"""JSON text that means the same, with unsafe characters of its strings written as `\uXXXX`."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _safe_except(text: str, keep: str) -> str:
    return _UNSAFE.sub(lambda match: match[0] if match[0] in keep else _escape(match), text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")
