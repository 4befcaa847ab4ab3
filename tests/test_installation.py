"""An installation from built wheels on a machine without a network: replay a trace, serve, train, stop."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WHEELHOUSE = ROOT / "build" / "wheelhouse"
"""The wheels that an installation needs; `make wheelhouse` downloads them."""
NO_NETWORK = ("unshare", "--map-root-user", "--net", "sh", "-ec", 'ip link set lo up; exec "$@"', "sh")
"""Runs a command in a network namespace that has the loopback interface and nothing else."""
TIMEOUT_SECONDS = 300.0

JOB = """
name: first
run: python3 -c 'print("trained")'
workers: 1
"""


def run(*command: str | Path, environment: dict[str, str] | None = None) -> str:
    """Run a command that succeeds; returns what it printed."""
    done = subprocess.run(
        [str(part) for part in command],
        env=environment or dict(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Installation:
    """A virtual environment with tenuto from its wheel, and a home of its own."""

    prefix: Path
    home: Path
    wheel: Path

    @property
    def environment(self) -> dict[str, str]:
        """As in a new shell, with nothing of the checkout in it."""
        ours = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TENUTO_", "PYTHON", "PIP_"))
        }
        return {**ours, "TENUTO_HOME": str(self.home), "PATH": f"{self.prefix / 'bin'}:{os.environ['PATH']}"}

    def run(self, *command: str) -> str:
        """Run a command of the new environment without a network."""
        return run(*NO_NETWORK, *command, environment=self.environment)


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    if not (WHEELHOUSE / ".complete").exists():
        pytest.skip("build/wheelhouse is missing: run make wheelhouse")
    if shutil.which("ip") is None or shutil.which("unshare") is None:
        pytest.skip("ip and unshare are missing: install the packages iproute2 and util-linux")
    offline = ("--no-index", "--find-links", WHEELHOUSE, "--disable-pip-version-check", "--quiet")
    pip = (sys.executable, "-m", "pip")
    run(*NO_NETWORK, *pip, "wheel", *offline, "--no-deps", "--wheel-dir", tmp_path, ROOT)
    (wheel,) = tmp_path.glob("tenuto-*.whl")
    prefix = tmp_path / "venv"
    run(sys.executable, "-m", "venv", prefix)
    run(*NO_NETWORK, prefix / "bin" / "python", "-m", "pip", "install", *offline, wheel)
    return Installation(prefix, tmp_path / "home", wheel)


def test_tenuto_from_wheels_replays_and_trains_without_a_network(installation: Installation) -> None:
    assert files_of_the_package() <= files_of(installation.wheel)
    (replayed,) = json.loads(installation.run("tenuto", "replay", "demo-10", "--policy", "edf", "--json"))
    assert replayed["deadline_jobs"] == 10
    assert "trained" in train(installation)


def files_of_the_package() -> set[str]:
    source = ROOT / "src"
    found = (path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(source).as_posix() for path in found}


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def train(installation: Installation) -> list[str]:
    """Start a server, run one job to its end, stop everything; returns the lines of its log."""
    job = installation.home.parent / "job.yaml"
    job.write_text(JOB, encoding="utf-8")
    # One shell, because a network namespace ends with its last process and the server listens in it.
    script = f"""
    tenuto up --detach --slots 1 >&2
    trap 'tenuto down --yes >&2' EXIT
    tenuto submit {shlex.quote(str(job))} >&2
    tenuto logs --follow first
    """
    return installation.run("sh", "-ec", script).splitlines()
