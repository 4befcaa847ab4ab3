"""The one place where functions are compiled.

A kernel is an ordinary function on NumPy columns and numbers. It is compiled on its first call and kept on
disk, so that only the first run on a machine pays for it. Numba notices a change of the file in which a
kernel stands, but not of the kernels that it calls from other files, nor of constants that it imports; so every
state of a package's kernels gets a directory of its own, named by a hash of all of them and of the modules from
which they import. Kernels call kernels of their own package only.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

MARK = b"@compiled\n"
ROOT = Path(__file__).parent
IMPORT = re.compile(r"^from tenuto\.([\w.]+) import", re.MULTILINE)
KEPT = 4
"""Directories of earlier states that stay, for switching between versions."""


def compiled(function: Kernel) -> Kernel:
    """Compile a function of columns and numbers to machine code, keeping IEEE arithmetic as written."""
    with _cached_in(_directory(Path(function.__code__.co_filename).parent)):
        kernel: Kernel = numba.njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    return kernel


@contextmanager
def _cached_in(directory: Path) -> Iterator[None]:
    """Let Numba keep what is decorated meanwhile in a directory, and nothing else that it compiles."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = before or str(directory)
    try:
        yield
    finally:
        numba.config.CACHE_DIR = before


@cache
def _directory(package: Path) -> Path:
    """The directory for the present state of a package's kernels; old states are cleared away."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parent = home / "tenuto" / "kernels" / f"{package.parent.name}-{package.name}"
    directory = parent / fingerprint(package)
    if parent.is_dir() and not directory.exists():
        others = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for outdated in others[KEPT:]:
            shutil.rmtree(outdated, ignore_errors=True)
    return directory


def fingerprint(package: Path, root: Path = ROOT) -> str:
    """A hash over every file of a package that holds kernels, and over ours from which they import."""
    digest = hashlib.sha256()
    for path in sorted(_kernels_in(package) | _imported_by_kernels_in(package, root)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _kernels_in(package: Path) -> set[Path]:
    return {path for path in package.glob("*.py") if MARK in path.read_bytes()}


def _imported_by_kernels_in(package: Path, root: Path) -> set[Path]:
    names = {name for path in _kernels_in(package) for name in IMPORT.findall(path.read_text("utf-8"))}
    paths = {root.joinpath(*name.split(".")).with_suffix(".py") for name in names}
    return {path for path in paths if path.is_file()}
