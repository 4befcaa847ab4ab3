"""Directories appear whole or not at all: what is written stands beside the target until it is complete."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenuto.atomic_file import temporary_name
from tenuto.errors import InputInvalid, Place


@contextmanager
def directory_beside(out: Path, *, anew: bool) -> Iterator[Path]:
    """Give a directory to write to, which takes the place of `out` only if the block ends well.

    What was in `out` goes if it is made `anew`; else only files of the same names are replaced.
    """
    target = out.absolute()
    part = Path(temporary_name(str(target)))
    try:
        part.mkdir(parents=True)
        yield part
        if target.is_dir() and not anew:
            for file in sorted(part.iterdir()):
                file.replace(target / file.name)
        else:
            if target.is_dir():
                shutil.rmtree(target)
            part.replace(target)
    except OSError as error:
        raise InputInvalid(
            f"it cannot be written ({error.strerror})",
            remedy="Choose a directory in which you may write and which has room",
            place=Place(str(out)),
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
