"""Files appear whole or not at all: what is written stands beside the target until it is complete."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tenuto.atomic_file import temporary_name
from tenuto.errors import InputInvalid, Place

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Give the name of a file to write; it takes the place of `path` only if the block ends well."""
    # A link stays a link: what it points to is replaced.
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise InputInvalid("this is not a file", remedy="Choose the name of a file", place=Place(str(path)))
    part = Path(temporary_name(str(target), target.suffix))
    try:
        yield part
        part.replace(target)
    except OSError as error:
        raise InputInvalid(
            f"the file cannot be written ({error.strerror})",
            remedy="Choose an existing directory in which you may write and which has room",
            place=Place(str(path)),
        ) from None
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a text file that takes its place only if the block ends well."""
    with written_beside(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())
