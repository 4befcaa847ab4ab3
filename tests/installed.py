"""Packages as an installer leaves them behind: modules, and beside them what they are called and bring."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def a_package(
    site: Path, name: str, *, modules: Mapping[str, str], entry_points: Mapping[str, Mapping[str, str]]
) -> None:
    """Put a package into a directory of packages; entry points by group and name."""
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text, encoding="utf-8")
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    lines = []
    for group, entries in entry_points.items():
        lines += [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
