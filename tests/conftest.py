"""What every test shares: Hypothesis profiles, the reference data, and skips that may not pass unseen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Generator

# A kernel compiles inside the first example that calls it, so a deadline would measure the compiler.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The directory with traces, profiles and the reference's results; without it the test is skipped."""
    named = os.environ.get("TENUTO_SHARED", "")
    if not named:
        pytest.skip("TENUTO_SHARED is not set; it names the directory with the reference data")
    directory = Path(named)
    if not directory.is_dir():
        pytest.skip(f"TENUTO_SHARED names {named}, which is no directory")
    return directory


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the skip of one test."""
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the skip of a whole module."""
    report = yield
    _fail_if_skipped(report)
    return report


def _fail_if_skipped(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure where `TENUTO_NO_SKIPS=1` says that nothing may be missing."""
    if report.skipped and os.environ.get("TENUTO_NO_SKIPS") == "1":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
        report.outcome = "failed"
        report.longrepr = f"{reason} (TENUTO_NO_SKIPS=1 forbids skips)"
