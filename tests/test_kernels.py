"""Compiled functions call compiled functions of their own package only: their cache is keyed by package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import tenuto
from tenuto.compiled import fingerprint

ROOT = Path(tenuto.__file__).parent


def modules() -> dict[str, ast.Module]:
    return {
        ".".join(("tenuto", *path.relative_to(ROOT).with_suffix("").parts)): ast.parse(
            path.read_text("utf-8")
        )
        for path in sorted(ROOT.rglob("*.py"))
    }


def kernels(module: ast.Module) -> list[ast.FunctionDef]:
    return [
        node
        for node in module.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "compiled" for mark in node.decorator_list)
    ]


def package(module: str) -> str:
    return module.rpartition(".")[0]


def imported_names(module: ast.Module) -> Iterator[tuple[str, str, str]]:
    """For each `from a.b import c as d`: the local name, the module and the name there."""
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, node.module, alias.name


def calls_across(trees: dict[str, ast.Module]) -> list[str]:
    """Every kernel that names a kernel of another package."""
    compiled = {(name, kernel.name) for name, tree in trees.items() for kernel in kernels(tree)}
    return [
        f"{name}.{kernel.name} uses {source}.{original}"
        for name, tree in trees.items()
        for local, source, original in imported_names(tree)
        if (source, original) in compiled and package(source) != package(name)
        for kernel in kernels(tree)
        if any(isinstance(node, ast.Name) and node.id == local for node in ast.walk(kernel))
    ]


def test_kernels_use_kernels_of_their_own_package_only() -> None:
    trees = modules()

    assert sum(len(kernels(tree)) for tree in trees.values()) > 50
    assert calls_across(trees) == []


def test_the_scan_finds_a_kernel_that_calls_another_packages() -> None:
    trees = {
        "tenuto.one.a": ast.parse("@compiled\ndef near(): pass"),
        "tenuto.one.b": ast.parse("from tenuto.one.a import near\n@compiled\ndef fine(): near()"),
        "tenuto.two.c": ast.parse("from tenuto.one.a import near as far\n@compiled\ndef wrong(): far()"),
    }

    assert calls_across(trees) == ["tenuto.two.c.wrong uses tenuto.one.a.near"]


@pytest.mark.parametrize(
    ("changed", "compiles_anew"),
    [("one/kernel.py", True), ("one/limits.py", True), ("two/sizes.py", True), ("one/words.py", False)],
)
def test_kernels_are_compiled_anew_if_they_change_or_what_they_import(
    tmp_path: Path, changed: str, compiles_anew: bool
) -> None:
    imports = "from tenuto.one.limits import LIMIT\nfrom tenuto.two.sizes import SIZES\n"
    files = {
        "one/kernel.py": f"{imports}@compiled\ndef kernel(): pass\n",
        "one/limits.py": "LIMIT = 1\n",
        "one/words.py": "WORD = 1\n",
        "two/sizes.py": "SIZES = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = fingerprint(tmp_path / "one", tmp_path)

    (tmp_path / changed).write_text(files[changed] + "# changed\n")

    assert (fingerprint(tmp_path / "one", tmp_path) != before) is compiles_anew
