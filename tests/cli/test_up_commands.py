"""`tenuto up`, `down` and `node join` with what cannot be used: one sentence, a code, and nothing begun."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tenuto.cli.main import main


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str]:
    monkeypatch.setattr("sys.argv", ["tenuto", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("up", "--engine", "slurm"), 2, "there is no engine 'slurm'"),
        (("up", "--no-local", "--slots", "2"), 2, "--no-local leaves no node"),
        (("up", "--policy", "fifa"), 2, "Did you mean fifo?"),
        (("up", "--config", "nirgends.yaml"), 2, "nirgends.yaml"),
        (("up", "--store", "mysql://x", "--slots", "1"), 2, "The store's address is of no kind we know"),
        (("up", "--slots", "many"), 2, "Invalid value for '--slots'"),
        (("up", "--host", "nowhere.invalid"), 2, "the address 'nowhere.invalid' is not known"),
        (("down", "--timeout", "-1"), 2, "Invalid value for '--timeout'"),
        (("node", "join", "http://x"), 6, "a node needs a token"),
        (("node", "join", "http://x", "--token", "t", "--name", "a/b"), 2, "is no name of a node"),
        (("node", "join", "ftp://x", "--token", "t"), 2, "is no address of a server"),
        (("node", "join", "http://x", "--token-file", "nirgends"), 2, "there is no token in nirgends"),
        (("node", "join", "http://x", "--token", "t", "--label", "room"), 2, "room"),
        (("node", "ls"), 7, "no server runs on this machine"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    arguments: tuple[str, ...],
    code: int,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    ended, said = run(monkeypatch, capsys, *arguments)

    assert (ended, told in said) == (code, True), said
    home = Path(os.environ["TENUTO_HOME"])
    assert not (home / "server.json").exists()


def test_down_on_a_home_where_nothing_ever_ran_has_nothing_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ended, said = run(monkeypatch, capsys, "down")

    assert ended == 0
    assert "Nothing runs on" in said
