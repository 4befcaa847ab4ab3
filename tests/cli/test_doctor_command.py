"""`tenuto doctor` on a machine where nothing runs: exit 0 on a bare one, 1 where something will not work."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tenuto.cli.home import Home
from tenuto.cli.main import app
from tenuto.client.whereabouts import ServerFile
from tenuto.doctor import parts
from tenuto.doctor.parts import Part


def doctor(*arguments: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def found(*arguments: str, code: int = 0) -> dict[str, Any]:
    told = json.loads(doctor("--json", *arguments, code=code))
    assert told["well"] is (code == 0)
    return {f"{one['topic']} {one['name']}": one for one in told["findings"]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    made = Home(tmp_path / "дом")
    monkeypatch.setenv("TENUTO_HOME", str(made.path))
    return made


def test_a_bare_machine_is_well_and_what_is_missing_is_listed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parts, "PACKAGES", (Part("no_such_package", "tests", "pip install it"),))

    told = doctor()

    assert not home.path.exists(), "looking makes nothing"
    assert any(line.startswith("missing") and line.endswith("pip install it") for line in told.splitlines())
    assert "none runs here; tenuto up starts one" in told


def test_a_home_that_cannot_be_made_is_named_first(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_HOME", "/proc/nowhere/tenuto")

    first = doctor(code=1).splitlines()[1]

    assert first.startswith("problem  home")
    assert "TENUTO_HOME" in first


def test_a_damaged_store_is_a_problem_and_open_doors_are_a_warning(home: Home) -> None:
    home.prepare()
    home.path.chmod(0o755)
    Path(home.store_url.removeprefix("sqlite:///")).write_text("Dear diary" * 1000)

    told = found(code=1)

    assert told["home store"]["status"] == "problem"
    assert told["home permissions"]["status"] == "warning"
    assert "chmod 700" in told["home permissions"]["remedy"]


def test_the_port_of_last_time_may_be_taken_by_somebody_else(home: Home) -> None:
    home.prepare()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        home.write_server_file(ServerFile(f"http://127.0.0.1:{port}", None, port))
        taken = found()["home port"]
    free = found()["home port"]

    assert (taken["status"], taken["value"]) == ("warning", port)
    assert (free["status"], free["told"]) == ("ok", f"{port}, that of last time, is free")


def test_a_server_that_is_gone_without_a_word_is_a_problem(home: Home) -> None:
    home.prepare()
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    home.write_server_file(ServerFile(f"http://127.0.0.1:{port}", 4711, port))
    home.token.write_text("geheim")

    server = found(code=1)["server server"]

    assert server["status"] == "problem"
    assert "although one should run" in server["told"]


def test_a_directory_that_is_asked_for_and_missing_is_a_problem(home: Home, tmp_path: Path) -> None:
    (tmp_path / "да").mkdir()

    told = found("--path", str(tmp_path / "да"), "--path", "nowhere", code=1)

    assert told[f"directories {tmp_path / 'да'}"]["status"] == "ok"
    assert told[f"directories {Path.cwd() / 'nowhere'}"]["status"] == "problem"


def test_without_a_server_no_node_can_be_asked(home: Home) -> None:
    assert found("--all-nodes", code=1)["nodes nodes"]["status"] == "problem"
