"""Every command of the documentation is run: the `$ tenuto` lines of consoles by `test_docs.py`, all others here.

A command that is new in a page is run as well, without anything to be added here. One that cannot be run is listed
below with the reason; an entry that no page shows any more fails.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import typer
from tests.documented import PAGES, ROOT, Command, commands_in, documented_commands, output_lines
from tests.e2e.platform import HANG, Platform, eventually
from tests.influxdb import free_port
from tests.postgres import PostgresServer, program
from tests.test_docs import DOCUMENTS, FILE
from typer.core import TyperGroup

from tenuto.cli.main import app

MEASUREMENTS = {
    "docs/bench.md": "real training for minutes",
    "docs/figures.md": "replays of public traces, or real training, for minutes",
    "docs/replay.md": "plays a trace for minutes; tests/e2e/test_replay_live.py plays shorter ones",
}
"""Pages whose commands take minutes: they are parsed, so that no option is wrong, and not run."""

RUNNING = "tests/examples/test_running.py"
MLP = f"{RUNNING}::test_alone_under_torchrun_and_under_tenuto"
RESNET = f"{RUNNING}::test_the_resnet_stopped_after_an_epoch_begins_with_the_next_one_and_predicts"
INSTALLATION = "tests/test_installation.py::test_tenuto_from_wheels_replays_and_trains_without_a_network"
CLIENTS = "tests/examples/test_client_programs.py"
ELSEWHERE = {
    "cd examples/mlp": MLP,
    "python train.py": MLP,
    "torchrun --nproc-per-node 2 train.py": MLP,
    "cd examples/resnet": RESNET,
    "python train.py --epochs 1": RESNET,
    "python train.py --epochs 2": RESNET,
    "python predict.py --rows 5": RESNET,
    "cd examples/client": f"{CLIENTS}::test_a_deadline_is_promised",
    "python deadline.py --minutes 60": f"{CLIENTS}::test_a_deadline_is_promised",
    "python deadline.py --minutes 0.1": f"{CLIENTS}::test_a_deadline_that_cannot_be_promised_is_put_off",
    "python watch.py": f"{CLIENTS}::test_a_job_is_watched_to_its_end",
    "python many.py --jobs 20": f"{CLIENTS}::test_many_jobs_are_awaited_at_once",
    "python3 -m venv ~/tenuto": INSTALLATION,
    "~/tenuto/bin/pip install --no-index --find-links build/wheelhouse .": INSTALLATION,
}
"""Commands that another test runs."""

EXCEPTIONS = {
    "systemctl --user daemon-reload": "needs the systemd of a user who is logged in",
    "systemctl --user enable --now tenuto.service": "the same; tests/cli/test_install_service.py checks the unit",
    "loginctl enable-linger": "the same",
    "pip install tenuto[postgresql]": "needs a package index; the name of the extra is checked below",
    ".venv/bin/pre-commit install": "changes the checkout's hooks",
}
"""Commands that no test runs, and why."""

SERVERS = ("tenuto up --port", "tenuto node join", "TENUTO_SERVING_NAMES=", "TENUTO_STORE=")
"""How commands begin that go on until they are stopped."""

COMMANDS = documented_commands()
PROGRAM: Any = typer.main.get_command(app)


class How(Enum):
    """What becomes of a command."""

    TEST_DOCS = "run by test_docs.py"
    ELSEWHERE = "run by another test"
    EXCEPTION = "not run"
    PARSED = "parsed"
    MAKE = "its target is looked for"
    SERVER = "run until it is stopped"
    SHELL = "run in a shell"


def is_run_by_test_docs(command: Command) -> bool:
    """Whether it is a line of a console that `test_docs.py` runs."""
    is_ours = command.text.startswith("tenuto ") and "TENUTO_SHARED" not in command.text
    return command.language == "console" and is_ours and ROOT / command.page in DOCUMENTS


RUN_BY_TEST_DOCS = {command.words for command in COMMANDS if is_run_by_test_docs(command)}


def how(command: Command) -> How:
    """A command is run in a shell unless something else is known of it."""
    words = command.words
    known = {
        How.TEST_DOCS: words in RUN_BY_TEST_DOCS,
        How.ELSEWHERE: words in ELSEWHERE,
        How.EXCEPTION: words in EXCEPTIONS,
        How.PARSED: command.page in MEASUREMENTS,
        How.MAKE: re.match(r"make\b", words) is not None,
        How.SERVER: words.startswith(SERVERS) and "--detach" not in words,
    }
    return next((way for way, applies in known.items() if applies), How.SHELL)


def those(way: How) -> list[Command]:
    return [command for command in COMMANDS if how(command) is way]


SHELL_PAGES = sorted({command.page for command in those(How.SHELL)})


class Influx(BaseHTTPRequestHandler):
    """Takes what is written, as an InfluxDB does."""

    received: bytes = b""

    def do_POST(self) -> None:
        Influx.received = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing on standard error."""


@dataclass(frozen=True)
class Reader:
    """A reader of the documentation at a running platform."""

    platform: Platform
    place: Path
    influx: str

    def adapt(self, text: str) -> str:
        """A command with the addresses, directories and names of this machine."""
        for shown, here in {
            "http://gpu-box:8080": self.platform.told["url"],
            "http://127.0.0.1:8080": self.platform.told["url"],
            "http://influx:8086": self.influx,
            "name=n1&": "name=node-0&",
            "install -m 600 -o prometheus": "install -m 600",
            "/etc/prometheus": f"{self.place}/etc/prometheus",
            "/etc/grafana": f"{self.place}/etc/grafana",
            "/var/lib/grafana": f"{self.place}/var/lib/grafana",
        }.items():
            text = text.replace(shown, here)
        return text

    @property
    def environment(self) -> dict[str, str]:
        """With our programs before all others, and what pages presume to be set."""
        path = f"{self.place / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        token = (self.platform.home / "token").read_text().strip()
        return {**self.platform.environment, "PATH": path, "URL": self.platform.told["url"], "TOKEN": token}

    def run(self, commands: Iterable[Command]) -> str:
        """Run commands in one shell, which ends with the first that fails; returns what they print."""
        adapted = [self.adapt(command.text) for command in commands]
        lines = [f"printf '%s\\n' {shlex.quote('$ ' + text)} >&2\n{text}" for text in adapted]
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        return done.stdout


CURL = """#!/bin/sh
# Fails where the server refuses, and ends a stream once all there is has been sent.
for argument; do
  case $argument in */events/stream*) argument="$argument&timeout=0" ;; esac
  set -- "$@" "$argument"
  shift
done
exec {curl} --fail-with-body --max-time 30 "$@"
"""


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """At a platform that was started as the page about operations shows, on a free port, with jobs that pages name."""
    directory = tmp_path_factory.mktemp("documented")
    (command,) = (one for one in those(How.SERVER) if one.text.startswith("TENUTO_SERVING_NAMES="))
    words = shlex.split(command.text.replace("8080", str(free_port())))
    program_at = words.index("tenuto")
    platform = Platform(directory, *words[program_at + 2 :], "--nodes", "1", "--slots", "4")
    platform.settings = dict(word.split("=", 1) for word in words[:program_at])
    place = directory / "place"
    for below in ("bin", "etc/prometheus", "etc/grafana/provisioning/datasources"):
        (place / below).mkdir(parents=True)
    (place / "etc/grafana/provisioning/dashboards").mkdir()
    (place / "var/lib/grafana/dashboards").mkdir(parents=True)
    (place / "deploy").symlink_to(ROOT / "deploy")
    with ThreadingHTTPServer(("127.0.0.1", 0), Influx) as influx:
        Thread(target=influx.serve_forever, daemon=True).start()
        try:
            platform.up()
            (place / "node-token").write_bytes((platform.home / "node-token").read_bytes())
            with platform.client(patience=5.0) as client:
                client.submit({"name": "train", "run": ["sleep", "600"]})
                eventually(lambda: client.subjects("node")["items"], "there are numbers")
                client.submit({"name": "wide", "run": ["sleep", "600"], "workers": 4})
            platform.wait_for("train", "running")
            _put_curl(place / "bin" / "curl")
            yield Reader(platform, place, f"http://127.0.0.1:{influx.server_address[1]}")
        finally:
            influx.shutdown()
            platform.end()


def _put_curl(path: Path) -> None:
    found = shutil.which("curl")
    if found is None:
        pytest.skip("there is no curl")
    path.write_text(CURL.format(curl=found))
    path.chmod(0o700)


PRINTED = {
    "docs/api.md": ('"name":"first"', "event: open"),
    "docs/monitoring.md": ("# TYPE tenuto_jobs gauge", "SUCCESS: "),
    "docs/questions.md": ("wide", "Nothing was changed"),
}
"""Something that commands of a page print if they do what they should."""


@pytest.mark.parametrize("page", SHELL_PAGES)
def test_the_commands_of_a_page_run(page: str, reader: Reader) -> None:
    for name, text in FILE.findall((ROOT / page).read_text(encoding="utf-8")):
        (reader.place / name).write_text(text, encoding="utf-8")

    printed = reader.run(command for command in those(How.SHELL) if command.page == page)

    for words in PRINTED[page]:
        assert words in printed
    if "--format influx" in (ROOT / page).read_text(encoding="utf-8"):
        assert b"host=node-0" in Influx.received


def test_a_command_that_is_new_in_a_page_is_run_and_fails_if_it_cannot_be(reader: Reader) -> None:
    (new,) = commands_in("docs/api.md", "```sh\ntenuto frobnicate\n```\n")

    assert how(new) is How.SHELL
    with pytest.raises(AssertionError, match="exit 2"):
        reader.run([new])


def test_a_node_joins_as_the_page_says(reader: Reader) -> None:
    (command,) = (one for one in those(How.SERVER) if one.text.startswith("tenuto node join"))
    with reader.platform.client(patience=5.0) as client:
        before = {node["name"] for node in client.nodes()["items"]}

        def joined() -> bool:
            return any(
                node["name"] not in before and node["state"] == "online" for node in client.nodes()["items"]
            )

        _runs_until_stopped(reader.adapt(command.text), reader.place, reader.environment, joined)


@pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL is not installed")
def test_a_server_starts_on_postgresql_as_the_page_says(tmp_path: Path) -> None:
    (command,) = (one for one in those(How.SERVER) if one.text.startswith("TENUTO_STORE="))
    platform = Platform(tmp_path)
    database = PostgresServer()
    try:
        text = command.text.replace("postgresql://tenuto@db/tenuto", database.url(database.new_database()))
        environment = {**platform.environment, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        _runs_until_stopped(
            f"{text} --no-local", tmp_path, environment, lambda: (platform.home / "server.json").exists()
        )
    finally:
        platform.end()
        database.remove()


def _runs_until_stopped(
    command: str, place: Path, environment: dict[str, str], works: Callable[[], bool]
) -> None:
    """Start a command, wait until it does what it should, and stop it as Ctrl-C does."""
    # A shell in the background has its commands ignore interrupts, so the last one takes the shell's place.
    begin, _, last = command.rpartition("tenuto ")
    process = subprocess.Popen(
        ["bash", "-euc", f"export {begin}; exec tenuto {last}" if begin else f"exec {command}"],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )

    def look() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        return works()

    try:
        eventually(look, f"{command} works")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG)
        assert process.returncode in (0, 130), errors
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("command", those(How.MAKE), ids=lambda command: command.text)
def test_every_target_of_make_exists(command: Command) -> None:
    arguments = shlex.split(command.text, comments=True)[1:]

    done = subprocess.run(
        ["make", "--dry-run", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", those(How.PARSED), ids=str)
def test_commands_that_take_minutes_can_be_parsed(command: Command) -> None:
    parse(command.text)


def parse(text: str) -> None:
    """Check a command of ours against the options and arguments that it has; raises as the program would."""
    name, *arguments = shlex.split(text, comments=True)
    assert name == "tenuto"
    command, context = PROGRAM, None
    while isinstance(command, TyperGroup):
        context = command.make_context(name, arguments, parent=context)
        resolved = command.resolve_command(context, [*context._protected_args, *context.args])
        name, command, arguments = resolved[0] or "", resolved[1], resolved[2]
    command.make_context(name, arguments, parent=context)


def test_a_wrong_option_cannot_be_parsed() -> None:
    with pytest.raises(Exception, match="frobnicate"):
        parse("tenuto bench rescale --frobnicate")


# that nothing is left out


def test_every_command_is_run_parsed_or_listed() -> None:
    shown = {command.words for command in COMMANDS}

    assert EXCEPTIONS.keys() | ELSEWHERE.keys() <= shown, "an entry that no page shows"
    assert MEASUREMENTS.keys() <= {command.page for command in those(How.PARSED)}
    assert set(SHELL_PAGES) == PRINTED.keys(), "say what the commands of a new page print"
    assert len(those(How.SERVER)) == 3, "a server that is new in the pages needs a test above"


@pytest.mark.parametrize("test", sorted(set(ELSEWHERE.values())))
def test_what_is_run_elsewhere_is_there(test: str) -> None:
    path, _, name = test.partition("::")

    assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


def test_commands_are_found_in_every_kind_of_block() -> None:
    page = (
        "```sh\n# a comment\nfirst --of \\\n  two\ncurl -d '{\n}' x  # why\n```\n"
        "```text\n$ second\nits output\n```\n```console\n$ tenuto ps\n```\n```\n$ third\n```\n"
        '```sh title="train.sh"\na line of a file\n```\n'
    )

    found = [(command.line, command.text) for command in commands_in("page.md", page)]

    assert found == [
        (3, "first --of \\\n  two"),
        (5, "curl -d '{\n}' x  # why"),
        (9, "second"),
        (13, "tenuto ps"),
        (16, "third"),
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_command_stands_among_output(page: Path) -> None:
    """Where it would not be found: blocks of commands say `sh`, or have `$ ` before each."""
    commands = re.compile(r"(curl|make|pip|python3?|sudo|systemctl|docker) ")

    assert [line for _, line in output_lines(page.read_text(encoding="utf-8")) if commands.match(line)] == []


def test_every_extra_that_pages_name_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    named = {extra for extras in re.findall(r"tenuto\[([\w,]+)\]", text) for extra in extras.split(",")}

    assert named
    assert named <= project["optional-dependencies"].keys()
