"""Text that comes in pieces."""

from __future__ import annotations


def whole_characters(data: bytes) -> bytes:
    """The bytes without the beginning of a UTF-8 character at their end whose rest is still to come."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            return data[:-back] if back < _length(byte) else data
    return data


def _length(first: int) -> int:
    """Bytes of the character that begins with this one; 1 if none does."""
    if first >= 0xF8:
        return 1
    return 4 if first >= 0xF0 else 3 if first >= 0xE0 else 2
