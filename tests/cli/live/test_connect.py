"""How a command finds its server, and what it says when there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.live.site import TOKEN, Served, Site, a_store, ok, tenuto

from tenuto.client.whereabouts import locate
from tenuto.errors import InputInvalid, NotAllowed, Unreachable


def a_home(
    tmp_path: Path, url: str = "http://127.0.0.1:1", pid: int | None = 1, token: str = TOKEN
) -> dict[str, str]:
    (tmp_path / "server.json").write_text(json.dumps({"url": url, "pid": pid, "port": 1}))
    if token:
        (tmp_path / "token").write_text(f"{token}\n")
    return {"TENUTO_HOME": str(tmp_path)}


def test_the_server_of_this_machine_is_found_in_its_home(tmp_path: Path) -> None:
    assert locate(None, a_home(tmp_path)) == ("http://127.0.0.1:1", TOKEN)


def test_the_environment_names_another(tmp_path: Path) -> None:
    home = a_home(tmp_path)

    assert locate("gpu-box:8080/", home | {"TENUTO_TOKEN": "t"}) == ("http://gpu-box:8080", "t")
    assert locate("gpu-box", home | {"TENUTO_URL": "http://gpu-box/", "TENUTO_TOKEN": "t"}) == (
        "http://gpu-box",
        "t",
    )


@pytest.mark.parametrize("server", ["ftp://x", "http://", "http://x:99999", "http://x:nonsense", "a b:1:2"])
def test_what_is_no_address_is_refused(server: str) -> None:
    with pytest.raises(InputInvalid, match="is no address of a server"):
        locate(server, {"TENUTO_HOME": "/nowhere"})


def test_without_a_server_one_is_told_how_to_start_one(tmp_path: Path) -> None:
    for home in ({"TENUTO_HOME": str(tmp_path / "empty")}, a_home(tmp_path, pid=None)):
        with pytest.raises(Unreachable, match="Start one with: tenuto up"):
            locate(None, home)


def test_without_a_token_one_is_told_where_it_goes(tmp_path: Path) -> None:
    with pytest.raises(NotAllowed, match="TENUTO_TOKEN"):
        locate(None, a_home(tmp_path, token=""))


def test_a_server_that_does_not_answer_ends_with_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)
    monkeypatch.setattr("tenuto.cli.connect.PATIENCE", 0.01)

    result = tenuto("ps", "--server", "http://127.0.0.1:1")

    assert result.exit_code == 7
    assert result.stderr == "tenuto: no server answers at http://127.0.0.1:1. Start one with: tenuto up\n"


def test_a_wrong_token_ends_with_6(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_TOKEN", "wrong")

    result = tenuto("ps")

    assert result.exit_code == 6
    assert "wrong" not in result.stderr


def test_a_command_finds_the_home_of_its_machine(
    one_server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = one_server.on(a_store(), tmp_path / "logs")
    site.add_job("k1", "여기")
    monkeypatch.delenv("TENUTO_URL", raising=False)
    monkeypatch.setenv("TENUTO_HOME", a_home(tmp_path, one_server.url)["TENUTO_HOME"])

    assert "여기" in ok("ps")
