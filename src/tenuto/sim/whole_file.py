"""Files appear whole or not at all: what is written stands beside the target until it is complete."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from tenuto.errors import InputInvalid, Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its place only if the block ends well."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        stream = part.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise InputInvalid(
            f"the file cannot be written ({error.strerror})",
            remedy="Choose an existing directory in which you may write",
            place=Place(str(path)),
        ) from None
    try:
        with stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
