"""`import tenuto` costs a script next to nothing, and needs nothing but Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tenuto

SOURCE = Path(tenuto.__file__).parents[1]

LISTED = """
import sys
sys.path.insert(0, {source!r})
before = set(sys.modules)
{program}
print("\\n".join(sorted(set(sys.modules) - before)))
"""


def loaded_by(program: str) -> set[str]:
    """The modules that a program loads, in an interpreter without any installed package."""
    whole = LISTED.format(source=str(SOURCE), program=program)
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", whole], capture_output=True, text=True, check=True
    )
    return set(found.stdout.split())


def test_importing_the_package_loads_nothing_else() -> None:
    assert {name.split(".")[0] for name in loaded_by("import tenuto")} == {"tenuto"}


def test_a_run_needs_the_standard_library_only() -> None:
    loaded = loaded_by("import tenuto; run = tenuto.init(); run.report(loss=0.5); run.finish()")

    foreign = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert foreign == {"tenuto"}
    assert {"asyncio", "socket", "urllib.request", "multiprocessing"} & loaded == set()


def test_callbacks_can_be_imported_without_their_frameworks() -> None:
    assert "tenuto.sdk.callbacks" in loaded_by("import tenuto.sdk.callbacks")


def test_what_the_package_does_not_have_is_named() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'start_daemon'"):
        _ = tenuto.start_daemon


def test_the_version_is_there_without_the_sdk() -> None:
    assert tenuto.__version__
