"""The home of a platform: private, whole, and one server's at a time."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tenuto.cli.home import Home, secret_in
from tenuto.client.whereabouts import ServerFile, read_secret
from tenuto.errors import Conflict, InputInvalid


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "dom-음표")
    made.prepare()
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_and_its_secrets_are_the_owners_alone(home: Home) -> None:
    secret, _ = secret_in(home.token)
    home.write_server_file(ServerFile("http://127.0.0.1:1", 1, 1))

    assert [mode(home.path), mode(home.logs), mode(home.nodes)] == [0o700] * 3
    assert [mode(home.token), mode(home.server)] == [0o600] * 2
    assert len(secret) >= 43


def test_a_home_that_others_could_read_is_closed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)

    Home(tmp_path / "open").prepare()

    assert mode(tmp_path / "open") == 0o700


def test_a_secret_is_made_once(home: Home) -> None:
    first, made = secret_in(home.token)

    assert made
    assert secret_in(home.token) == (first, False)
    assert read_secret(home.token) == first
    assert read_secret(home.node_token) is None


def test_what_the_server_left_is_read_back(home: Home) -> None:
    assert home.server_file() is None
    home.write_server_file(ServerFile("http://127.0.0.1:8123", 42, 8123))
    assert home.server_file() == ServerFile("http://127.0.0.1:8123", 42, 8123)


@pytest.mark.parametrize("torn", ["", "{", "[]", '{"url": "x"}', '{"url": "x", "pid": 1, "port": "y"}'])
def test_a_torn_server_file_is_as_good_as_none(home: Home, torn: str) -> None:
    home.server.write_text(torn)

    assert home.server_file() is None


def test_a_second_server_is_refused_and_told_of_the_first(home: Home) -> None:
    home.write_server_file(ServerFile("http://127.0.0.1:8123", 42, 8123))
    with (
        home.locked(),
        pytest.raises(Conflict, match=r"process 42 at http://127.0.0.1:8123\). Use it") as refused,
        home.locked(),
    ):
        pass

    assert refused.value.exit_code == 5


def test_the_lock_goes_with_the_process_that_held_it(home: Home) -> None:
    assert not home.is_served()
    code = (
        "import sys, pathlib; from tenuto.cli.home import Home\n"
        "with Home(pathlib.Path(sys.argv[1])).locked():\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(home.path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        assert home.is_served()
        holder.kill()
        holder.wait()

    assert not home.is_served()


def test_a_home_that_cannot_be_made_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(InputInvalid, match="TENUTO_HOME"):
        Home(tmp_path / "file").prepare()
