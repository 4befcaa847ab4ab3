"""The server's log: one line for each entry, nobody's secret in it, and never larger than it may be."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tenuto.cli.event_log import EventLog
from tenuto.cli.home import Home
from tenuto.cli.server_log import AsJson, AsText, ServerLog, log_file, without_secrets
from tenuto.model.event import Event
from tenuto.server.guests import MOST, SILENCE, Guests
from tenuto.settings import Logs
from tenuto.store.memory import MemoryStore

SECRET = "Xk3-geheim_9"


def an_entry(message: str, *, error: Exception | None = None, **about: str) -> logging.LogRecord:
    trace = (type(error), error, error.__traceback__) if error else None
    entry = logging.LogRecord("tenuto.live", logging.WARNING, "", 0, "%s", (message,), trace)
    entry.__dict__.update(about)
    return entry


def test_an_entry_tells_when_how_grave_who_and_what() -> None:
    line = AsText().format(an_entry("läuft", actor="민준", job="k1", node=""))

    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d WARNING live: läuft actor=민준 job=k1", line)


def test_nobodys_name_begins_a_line_of_its_own() -> None:
    line = AsText().format(an_entry("deleted x\n2026-01-01 00:00:00 INFO forged \x1b[2J", actor="a\u2028b"))

    assert "\n" not in line
    assert "\x1b" not in line
    assert r"x\n2026" in line


def test_a_traceback_follows_its_entry_indented() -> None:
    try:
        raise ValueError("no")  # noqa: TRY301
    except ValueError as error:
        first, *rest = AsText().format(an_entry("a fault", error=error)).splitlines()

    assert first.endswith("a fault")
    assert rest[-1] == "    ValueError: no"
    assert all(line.startswith("    ") for line in rest)


def test_as_json_it_is_one_object_a_line() -> None:
    line = AsJson().format(an_entry("läuft\nweiter", node="node-0"))

    entry = json.loads(line)
    assert "\n" not in line
    assert {key: entry[key] for key in ("level", "part", "message", "node")} == {
        "level": "warning",
        "part": "live",
        "message": "läuft\nweiter",
        "node": "node-0",
    }
    assert "job" not in entry


@pytest.mark.parametrize(
    "text",
    [
        f"it was {SECRET} all along",
        "cannot open postgresql://kim:p4ss@db/tenuto",
        "Authorization: Bearer abc.def-123",
        "bearer\tabc.def-123",
    ],
)
def test_secrets_are_hidden_wherever_they_come_from(text: str) -> None:
    for form in (AsText((SECRET,)), AsJson((SECRET,))):
        told = form.format(an_entry(text, actor=SECRET))
        assert "[secret]" in told
        assert not any(word in told for word in (SECRET, "p4ss", "abc.def-123"))


def test_what_is_no_secret_stays() -> None:
    assert (
        without_secrets("http://gpu-box:8080/a@b and 12:30 kim@host")
        == "http://gpu-box:8080/a@b and 12:30 kim@host"
    )


def test_a_log_that_is_large_is_set_aside_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "log" / "журнал"
    path.parent.mkdir()
    handler = ServerLog(path, Logs(server_bytes=1000, server_files=2))
    handler.setFormatter(AsText())
    for number in range(100):
        handler.handle(an_entry(f"entry {number}"))
    handler.close()

    files = sorted(path.parent.iterdir())
    assert [file.name for file in files] == ["журнал", "журнал.1", "журнал.2"]
    entry = len(path.read_bytes().splitlines()[-1]) + 1
    assert all(file.stat().st_size < 1000 + entry for file in files)
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert path.read_text().splitlines()[-1].endswith("entry 99")


def test_in_the_background_what_the_interpreter_says_follows_the_log(tmp_path: Path) -> None:
    program = (
        "import logging, os, sys\n"
        "from pathlib import Path\n"
        "from tenuto.cli.home import Home\n"
        "from tenuto.cli.server_log import begin_log\n"
        "from tenuto.settings import Logs\n"
        "begin_log(Logs(server_bytes=300), Home(Path(sys.argv[1])))\n"
        "for number in range(5): logging.warning('entry %d %s', number, 'x' * 100)\n"
        "os.write(2, b'a last word\\n')\n"
    )
    log = tmp_path / "server.log"

    with log.open("ab") as error:
        subprocess.run([sys.executable, "-c", program, str(tmp_path)], stderr=error, check=True)

    lines = [line for file in tmp_path.glob("server.log*") for line in file.read_text().splitlines()]
    assert sorted(line.split()[5] for line in lines if "entry" in line) == list("01234"), "each once"
    assert log.read_text().endswith("a last word\n")


def test_the_log_lies_in_the_home_unless_another_file_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path)

    assert log_file(Logs(), home) == tmp_path / "server.log"
    assert log_file(Logs(server_file="/var/log/тенуто.log"), home) == Path("/var/log/тенуто.log")


def test_events_are_written_down_once_with_their_actor(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    before = Event(kind="phase", at=1.0, actor="controller", job="old", after="running")
    deleted = Event(kind="deleted", at=2.0, actor="민준", job="k1", before="failed", data={"name": "학습"})
    offline = Event(kind="node", at=3.0, actor="controller", node="desk", after="offline", reason="silent")
    store.write(lambda tx: tx.add_event(before))
    with caplog.at_level(logging.INFO, "tenuto.events"):
        told = EventLog(store, Guests())
        told.start()
        store.write(lambda tx: (tx.add_event(deleted), tx.add_event(offline)))
        told.stop()

    lines = [AsText().format(entry).partition("events: ")[2] for entry in caplog.records]
    assert lines == [
        "deleted 학습 failed actor=민준 job=k1",
        "node offline: silent actor=controller node=desk",
    ]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_users_come_and_go_and_strangers_are_noted_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    guests = Guests(clock)
    scope = {"type": "http", "client": ("10.0.0.9", 1), "path": "/api/v1/jobs", "headers": []}

    with caplog.at_level(logging.INFO, "tenuto.clients"):
        for _ in range(3):
            guests.came("민준", scope)
            guests.stranger(scope)
        clock.now = SILENCE + 1
        guests.look_around()
        guests.came("민준", scope)

    told = [(entry.getMessage().split()[0], getattr(entry, "actor", "")) for entry in caplog.records]
    assert told == [("online", "민준"), ("a", ""), ("offline:", "민준"), ("online", "민준")]


def test_guests_are_not_remembered_without_end() -> None:
    guests = Guests()
    for number in range(2 * MOST):
        scope = {"type": "http", "client": (str(number), 1), "path": "/", "headers": []}
        guests.came("민준", scope)
        guests.stranger(scope)

    assert len(guests._here) == len(guests._strangers) == MOST
