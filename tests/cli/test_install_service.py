"""systemd units: what systemd itself says about them, whose end leaves training alone, and nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.cli.service_units import Service, environment_of, unit_of
from tenuto.errors import Conflict, InputInvalid, NotFound

PLACE = "единицы 100%"
NEEDS_SYSTEMD = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed"
)


def tenuto(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def install(directory: Path, *arguments: str) -> Result:
    return tenuto("install-service", "--directory", str(directory), *arguments)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / PLACE


@pytest.fixture
def token(tmp_path: Path) -> Path:
    path = tmp_path / "node token"
    path.write_text("geheim-und-lang\n")
    return path


def verified(unit: Path, tmp_path: Path, *options: str) -> None:
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *options, str(unit)],
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@NEEDS_SYSTEMD
def test_systemd_has_nothing_to_say_against_the_servers_unit(place: Path, tmp_path: Path) -> None:
    config = tmp_path / "мои $HOME.yaml"
    config.write_text("{}")

    assert install(place, "--config", str(config)).exit_code == 0

    verified(place / "tenuto.service", tmp_path, "--user")


@NEEDS_SYSTEMD
def test_systemd_has_nothing_to_say_against_a_nodes_unit_of_the_system(
    place: Path, tmp_path: Path, token: Path
) -> None:
    wish = [
        "--system",
        "--run-as",
        "root",
        "--node",
        "gpu-box:8080",
        "--token-file",
        str(token),
        "--name",
        "desk",
    ]

    assert install(place, *wish).exit_code == 0

    verified(place / "tenuto-node.service", tmp_path)
    unit = (place / "tenuto-node.service").read_text()
    assert "User=root\n" in unit
    assert f'node join http://gpu-box:8080 --token-file "{token}" --name desk\n' in unit


def test_the_end_of_a_unit_leaves_training_alone() -> None:
    unit = unit_of(Service(name="x", description="x", command=["tenuto", "up"], environment=Path("/e")))

    for line in ("KillMode=process", "OOMPolicy=continue", "Restart=on-failure", "TasksMax=infinity"):
        assert line in unit.splitlines()


def test_what_systemd_would_expand_is_escaped() -> None:
    command = ["/opt/a b/python", "100%", "$HOME", 'say "no"', "back\\slash"]
    unit = unit_of(Service(name="x", description="x", command=command, environment=Path("/e %h/x.env")))

    assert 'ExecStart="/opt/a b/python" 100%% "$$HOME" "say \\"no\\"" "back\\\\slash"\n' in unit
    assert "EnvironmentFile=/e %%h/x.env\n" in unit
    assert 'TENUTO_HOME="/a b/\\$x"\n' in environment_of({"TENUTO_HOME": "/a b/$x"})


def test_the_unit_runs_this_python_with_this_home_and_tells_no_secret(
    place: Path, token: Path, tmp_path: Path
) -> None:
    install(place)
    told = install(place, "--node", "http://gpu-box:8080", "--token-file", str(token))

    texts = [path.read_text() for path in place.iterdir()]
    assert f"ExecStart={sys.executable} -P -m tenuto up\n" in (place / "tenuto.service").read_text()
    assert f"TENUTO_HOME={tmp_path / 'library'}\n" in (place / "tenuto.env").read_text()
    assert not any("geheim" in text for text in (*texts, told.output))
    assert "systemctl --user enable --now tenuto-node.service" in told.stderr
    assert "loginctl enable-linger" in told.stderr


def test_nothing_is_overwritten_unless_that_is_said(place: Path) -> None:
    place.mkdir()
    (place / "tenuto.service").write_text("mine")

    assert isinstance(install(place).exception, Conflict)
    assert [path.name for path in place.iterdir()] == ["tenuto.service"]
    assert (place / "tenuto.service").read_text() == "mine"
    assert install(place, "--force").exit_code == 0
    assert install(place).exit_code == 0, "the same once more is no harm"


def test_printing_writes_nothing(place: Path) -> None:
    printed = install(place, "--print")

    assert "KillMode=process" in printed.stdout
    assert not place.exists()


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (["--node", "http://x"], "the node token is needed in a file"),
        (["--node", "http://x", "--token-file", "nirgends"], "there is no file nirgends"),
        (["--node", "ftp://x", "--token-file", "/dev/null"], "there is no file /dev/null"),
        (["--config", "nirgends.yaml"], "there is no file nirgends.yaml"),
        (["--system", "--run-as", "no-such-user"], "there is no user 'no-such-user'"),
        (["--system"], "it is not said whose processes they shall be"),
    ],
)
def test_what_cannot_be_installed_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, wish: list[str], told: str
) -> None:
    monkeypatch.delenv("SUDO_USER", raising=False)

    refused = install(place, *wish)

    assert isinstance(refused.exception, InputInvalid)
    assert told in str(refused.exception)
    assert not place.exists()


def test_uninstalling_takes_away_what_was_written_and_nothing_else(place: Path) -> None:
    install(place)
    (place / "other.service").write_text("mine")

    assert tenuto("uninstall-service", "--directory", str(place)).exit_code == 0

    assert [path.name for path in place.iterdir()] == ["other.service"]
    assert isinstance(tenuto("uninstall-service", "--directory", str(place)).exception, NotFound)


def test_a_unit_of_somebody_else_is_not_taken_away(place: Path) -> None:
    place.mkdir()
    (place / "tenuto.service").write_text("[Unit]\n")

    assert isinstance(tenuto("uninstall-service", "--directory", str(place)).exception, Conflict)
    assert (place / "tenuto.service").exists()
