"""The one place where functions are compiled.

A kernel is an ordinary function on NumPy columns and numbers. It is compiled on its first call and kept on
disk, so that only the first run on a machine pays for it. Numba notices a change of the file in which a
kernel stands, but not of the kernels that it calls from other files; so every state of a package's kernels
gets a directory of its own, named by a hash of all of them. Kernels call kernels of their own package only.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

MARK = b"@compiled\n"
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
    directory = parent / _fingerprint(package)
    if parent.is_dir() and not directory.exists():
        others = sorted(parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for outdated in others[KEPT:]:
            shutil.rmtree(outdated, ignore_errors=True)
    return directory


def _fingerprint(package: Path) -> str:
    """A hash over every file of a package that holds kernels."""
    digest = hashlib.sha256()
    for path in sorted(package.glob("*.py")):
        content = path.read_bytes()
        if MARK in content:
            digest.update(content)
    return digest.hexdigest()[:16]
