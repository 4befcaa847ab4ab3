"""Where `tenuto history export` writes: a directory that `tenuto replay` can be pointed at, whole or not at all."""

from __future__ import annotations

from pathlib import Path

from tenuto.cli.whole_directory import directory_beside
from tenuto.errors import InputInvalid, Place
from tenuto.lab.past_export import Export, write_files


def check_free(out: Path, *, force: bool) -> None:
    """Refuse a place that is taken, before anything is asked."""
    if out.exists() and not out.is_dir():
        raise InputInvalid("this is a file", remedy="Name a directory", place=Place(str(out)))
    if out.is_dir() and not force and any(out.iterdir()):
        raise InputInvalid(
            "there is something in it already",
            remedy="Choose another --out, or overwrite an earlier export with --force",
            place=Place(str(out)),
        )


def write(export: Export, out: Path) -> None:
    """Write all files beside their place first; then they take it together."""
    with directory_beside(out, anew=False) as part:
        write_files(export, part, out)
