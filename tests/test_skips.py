"""A skip is listed on a laptop and fails where nothing may be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).with_name("conftest.py").read_text(encoding="utf-8")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """An empty project with our conftest, outside CI and without reference data."""
    for name in ("CI", "TENUTO_NO_SKIPS", "TENUTO_SHARED"):
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST)
    return pytester


SKIPS = {
    "by mark": "@pytest.mark.skip(reason='no GPU')\ndef test_one(): pass",
    "by condition": "@pytest.mark.skipif(True, reason='no GPU')\ndef test_one(): pass",
    "in the test": "def test_one(): pytest.skip('no GPU')",
    "in a fixture": "@pytest.fixture\ndef gpu(): pytest.skip('no GPU')\ndef test_one(gpu): pass",
    "of a module": "pytest.skip('no GPU', allow_module_level=True)",
}


@pytest.mark.parametrize("body", SKIPS.values(), ids=SKIPS.keys())
def test_a_skip_is_listed_with_its_reason(project: pytest.Pytester, body: str) -> None:
    project.makepyfile(f"import pytest\n{body}")

    result = project.runpytest("-ra")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*no GPU*"])


@pytest.mark.parametrize("body", SKIPS.values(), ids=SKIPS.keys())
def test_a_skip_fails_where_none_is_allowed(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("TENUTO_NO_SKIPS", "1")
    project.makepyfile(f"import pytest\n{body}")

    result = project.runpytest()

    assert result.ret != pytest.ExitCode.OK
    assert "skipped" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["*no GPU (TENUTO_NO_SKIPS=1 forbids skips)"])


def test_skips_fail_in_parallel_runs_too(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_NO_SKIPS", "1")
    project.makepyfile(
        test_module=f"import pytest\n{SKIPS['of a module']}",
        test_function=f"import pytest\n{SKIPS['in the test']}",
    )

    result = project.runpytest("--numprocesses", "1")

    assert result.ret != pytest.ExitCode.OK
    assert "skipped" not in result.parseoutcomes()
    result.stdout.fnmatch_lines(["*no GPU (TENUTO_NO_SKIPS=1 forbids skips)"] * 2)


def test_an_expected_failure_is_no_skip(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_NO_SKIPS", "1")
    project.makepyfile("import pytest\n@pytest.mark.xfail\ndef test_one(): assert False")

    project.runpytest().assert_outcomes(xfailed=1)


USES_SHARED = "def test_one(shared): assert (shared / 'README.md').exists()"


def test_the_reference_data_is_found_by_its_variable(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = project.mkdir("data")
    (data / "README.md").touch()
    monkeypatch.setenv("TENUTO_SHARED", str(data))
    project.makepyfile(USES_SHARED)

    project.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(("named", "reason"), [("", "is not set"), ("nowhere", "names nowhere, which is no")])
def test_without_reference_data_a_test_is_skipped(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, named: str, reason: str
) -> None:
    monkeypatch.setenv("TENUTO_SHARED", named)
    project.makepyfile(USES_SHARED)

    result = project.runpytest("-ra")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED*TENUTO_SHARED {reason}*"])
