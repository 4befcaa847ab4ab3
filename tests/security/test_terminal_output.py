"""Names, reasons and log lines of others never command the terminal of whoever reads them."""

from __future__ import annotations

import ast
import json
import logging
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.live.pseudo_terminal import in_a_terminal
from tests.cli.live.site import TOKEN, Served, Site, a_store, ok, served
from tests.e2e.platform import PROGRAM

import tenuto.cli
from tenuto.cli.server_log import AsJson, AsText
from tenuto.client.plain import PlainClient
from tenuto.engines.supervisor.log_setup import SafeFormatter
from tenuto.model.event import Event
from tenuto.model.phase import Phase
from tenuto.terminal_text import safe_coloured_text, safe_json, safe_line, safe_text

CLIPBOARD = "\x1b]52;c;cm0gLXJmIC8=\x07"
TITLE = "\x1b]0;owned\x1b\\"
CLEAR = "\x1b[2J\x1b[H"
C1_CLEAR = "\x9b2J"
RED, RESET = "\x1b[31m", "\x1b[0m"
REVERSED = "\u202e"
HOSTILE = f"x{CLIPBOARD}{TITLE}{CLEAR}{C1_CLEAR}{REVERSED}y"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
COMMANDING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(a_store(), tmp_path_factory.mktemp("logs")) as server:
        yield server


@pytest.fixture
def site(one_server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A job, a node, events and records whose every free text is hostile."""
    monkeypatch.setenv("TENUTO_URL", one_server.url)
    monkeypatch.setenv("TENUTO_TOKEN", TOKEN)
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "home"))
    made = one_server.on(a_store(), tmp_path / "logs")
    made.add_node(HOSTILE, address=HOSTILE)
    made.add_job(
        "k1",
        HOSTILE,
        phase=Phase.RUNNING,
        slots={HOSTILE: (0,)},
        generation=1,
        message=HOSTILE,
        spec={"labels": {HOSTILE: HOSTILE}},
    )
    made.add_attempt("k1", node=HOSTILE)
    event = Event(
        kind="phase", at=time.time(), actor=HOSTILE, job="k1", node=HOSTILE, after="lost", reason=HOSTILE
    )
    made.store.write(lambda tx: tx.add_event(event))
    record = {"kind": "step", "at": 1.0, "generation": 1, "rank": 0, "world": 1, "step": 1, "seq": 0}
    with PlainClient(one_server.url, TOKEN) as client:
        records = [{**record, "seconds": 0.5, "values": {HOSTILE: 1.0}}]
        client.add_metrics("k1", {"worker": "k1.1.worker.0", "first": 0, "records": records})
    return made


@pytest.mark.parametrize(
    "command",
    [
        ("ps",),
        ("show", "k1"),
        ("explain", "k1"),
        ("events",),
        ("metrics", "k1"),
        ("node", "ls"),
        ("node", "show", HOSTILE),
        ("report",),
        ("top", "--once"),
        ("ps", "--json"),
        ("events", "--json"),
        ("node", "ls", "--json"),
    ],
    ids=lambda command: " ".join(command[:2]).partition("x")[0],
)
def test_no_command_prints_control_characters_of_others(site: Site, command: tuple[str, ...]) -> None:
    printed = ok(*command)

    assert printed
    assert COMMANDING.findall(COLOUR.sub("", printed)) == []


def test_json_means_the_same_as_before(site: Site) -> None:
    assert json.loads(ok("ps", "--json"))["items"][0]["name"] == HOSTILE


def test_errors_that_repeat_a_name_are_safe(site: Site) -> None:
    done = subprocess.run(
        [*PROGRAM, "show", HOSTILE * 2], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.returncode != 0
    assert "owned" in done.stderr
    assert COMMANDING.findall(done.stderr) == []


@pytest.mark.parametrize("options", [(), ("--raw",), ("--tail", "5")])
def test_on_a_terminal_logs_keep_colours_and_nothing_else(site: Site, options: tuple[str, ...]) -> None:
    site.prints("k1", f"{CLIPBOARD}{TITLE}{RED}warning{RESET}{CLEAR}{C1_CLEAR}{REVERSED} end\x1b]52;c;cut\n")

    with in_a_terminal("logs", "k1", *options) as terminal:
        assert terminal.ends() == 0
        written = terminal.sent.decode()

    assert f"{RED}warning{RESET}" in written
    assert COMMANDING.findall(COLOUR.sub("", written).replace("\r", "")) == []
    assert "owned" not in written
    assert terminal.screen.title == ""


def test_into_a_pipe_logs_are_written_byte_by_byte(site: Site) -> None:
    site.prints("k1", f"{CLIPBOARD}{RED}warning{RESET}{REVERSED}\n")

    done = subprocess.run([*PROGRAM, "logs", "k1"], capture_output=True, timeout=60, check=True)

    assert done.stdout == f"{CLIPBOARD}{RED}warning{RESET}{REVERSED}\n".encode()


@pytest.mark.parametrize("form", [AsText(), AsJson(), SafeFormatter("%(message)s")])
def test_entries_of_logs_hold_no_control_characters(form: logging.Formatter) -> None:
    entry = logging.LogRecord("tenuto.live", logging.WARNING, "", 0, "%s", (HOSTILE,), None)

    assert COMMANDING.findall(form.format(entry)) == []


@given(text=st.text())
def test_safe_text_commands_nothing_and_can_be_encoded(text: str) -> None:
    for safe in (safe_text(text), safe_line(text), COLOUR.sub("", safe_coloured_text(text))):
        assert COMMANDING.findall(safe) == []
        safe.encode()


@given(value=st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_safe_json_means_the_same(value: Any) -> None:
    text = safe_json(json.dumps(value, ensure_ascii=False))

    assert json.loads(text) == value
    assert COMMANDING.findall(text) == []


def test_commands_write_only_through_the_printing_module() -> None:
    """Otherwise a new command would print what others wrote as it is."""
    directory = Path(tenuto.cli.__file__).parent
    allowed = {"printing.py", "console.py", "main.py", "background.py"}
    found = [
        f"{path.name}: {ast.unparse(node)[:60]}"
        for path in directory.rglob("*.py")
        if path.name not in allowed
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _writes_directly(node)
    ]

    assert found == []


def _writes_directly(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "rich.console" and any(name.name == "Console" for name in node.names)
    direct = {"print", "typer.echo", "typer.secho", "sys.stdout.write", "sys.stderr.write"}
    return isinstance(node, ast.Call) and ast.unparse(node.func) in direct
