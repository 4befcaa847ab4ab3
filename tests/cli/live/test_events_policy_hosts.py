"""`tenuto events`, `policy`, `hosts` and `schema`."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cli.live.site import Site, admitted, as_json, ok, tenuto, until

from tenuto.cli import events as events_command
from tenuto.cli import hosts as hosts_command
from tenuto.cli.schema import job_file_schema
from tenuto.model.event import Event
from tenuto.model.job import Progress
from tenuto.model.phase import Phase, PromiseState
from tenuto.wire.api import JobIn


def happens(site: Site, kind: str, **fields: Any) -> None:
    event = Event(kind=kind, at=time.time(), actor=fields.pop("actor", "controller"), **fields)
    site.store.write(lambda tx: tx.add_event(event))


def test_events_tell_what_happened_and_why(site: Site) -> None:
    site.add_job("k1", "학습")
    happens(site, "phase", job="k1", before="queued", after="running", reason="got slots")
    happens(site, "node", node="node-0", before="online", after="offline", reason="not heard of")

    told = ok("events")

    assert "phase  k1           queued → running" in " ".join(told.splitlines()[1].split(" "))
    assert "node-0" in told.splitlines()[2]
    assert [event["kind"] for event in as_json("events", "학습")["items"]] == ["phase"]
    assert [event["kind"] for event in as_json("events", "--node", "node-0")["items"]] == ["node"]
    assert [event["kind"] for event in as_json("events", "--kind", "phase")["items"]] == ["phase"]


def test_events_come_in_pages(site: Site) -> None:
    for number in range(5):
        happens(site, "worker", reason=str(number))

    newest = as_json("events", "--limit", "2")
    oldest = as_json("events", "--limit", "2", "--after", "0")
    then = as_json("events", "--limit", "2", "--after", oldest["next"])

    assert [event["reason"] for event in newest["items"]] == ["3", "4"]
    assert [event["reason"] for event in oldest["items"]] == ["0", "1"]
    assert [event["reason"] for event in then["items"]] == ["2", "3"]


def test_who_reads_behind_removed_events_is_told_on_standard_error(site: Site) -> None:
    for number in range(5):
        happens(site, "worker", reason=str(number))
    site.store.write(lambda tx: tx.remove_events(4, 10))

    from_the_start = tenuto("events", "--json", "--after", "0")
    newest = tenuto("events", "--json", "--limit", "1")

    assert json.loads(from_the_start.stdout)["gap"] is True
    assert "retention.events" in from_the_start.stderr
    assert json.loads(newest.stdout)["gap"] is False
    assert newest.stderr == ""


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_events_can_be_followed(site: Site, monkeypatch: pytest.MonkeyPatch, form: list[str]) -> None:
    happens(site, "phase", reason="first")
    print_them = events_command.tell

    def tell(found: Sequence[Any], as_json: bool) -> None:
        print_them(found, as_json)
        if found[-1]["reason"] == "second":
            raise KeyboardInterrupt
        happens(site, "phase", reason="second")

    monkeypatch.setattr(events_command, "tell", tell)

    lines = tenuto("events", "-f", *form).stdout.splitlines()

    assert len(lines) == 2
    assert "first" in lines[0]
    assert "second" in lines[1]
    if form:
        assert [json.loads(line)["reason"] for line in lines] == ["first", "second"]


def test_the_policy_in_force_is_told(site: Site) -> None:
    assert "elasticflow" in ok("policy", "show")
    assert as_json("policy", "show")["promises"] is True


def test_the_policy_and_its_settings_can_be_changed(site: Site) -> None:
    told = as_json("policy", "set", "edf", "--set", "margin=0.2", "--set", "interval=5m")

    assert told["name"] == "edf"
    assert (told["settings"]["margin"], told["settings"]["interval"]) == (0.2, 300)


def test_a_policy_that_would_break_promises_needs_force(site: Site) -> None:
    """One slot: first come, first served would let the promised job wait for the long one before it."""
    site.add_node("node-0", slots=1)
    now, one = time.time(), {"min_workers": 1, "max_workers": 1, "curve": {1: 1.0}}
    site.add_job(
        "k1", "long", curve={1: 1.0}, spec={**one, "steps": 1e6}, progress=Progress(left=1e6, as_of=now)
    )
    job = site.add_job(
        *("k2", "promised"),
        curve={1: 1.0},
        deadline=now + 7200,
        spec={**one, "steps": 600.0},
        progress=Progress(left=600.0, as_of=now),
    )
    site.answer(job.id, admitted)

    result = tenuto("policy", "set", "fifo")

    assert result.exit_code == 5
    assert "promised (k2)" in result.stderr
    assert as_json("policy", "show")["name"] == "elasticflow"
    assert as_json("policy", "set", "fifo", "--force")["name"] == "fifo"
    assert site.job("k2").promise is PromiseState.AT_RISK


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "nothing is to be changed"),
        (["elasticflo"], "elasticflow"),
        (["--set", "marginn=1"], "margin"),
        (["--set", "margin=-1"], "margin"),
    ],
)
def test_a_bad_policy_is_refused(site: Site, arguments: list[str], told: str) -> None:
    result = tenuto("policy", "set", *arguments)

    assert result.exit_code == 2, result.stderr
    assert told in result.stderr


@pytest.fixture
def spread(site: Site) -> Site:
    site.add_node("node-0", address="10.0.0.1")
    site.add_node("node-1", address="10.0.0.2")
    site.add_job("k1", "train", phase=Phase.RUNNING, slots={"node-0": (0,), "node-1": (0, 1)}, generation=1)
    return site


def test_hosts_are_lines_for_host_discovery(spread: Site) -> None:
    assert ok("hosts", "train") == "10.0.0.1:1\n10.0.0.2:2\n"
    assert ok("hosts", "train", "--names") == "node-0:1\nnode-1:2\n"
    assert as_json("hosts", "train") == {"lines": ["10.0.0.1:1", "10.0.0.2:2"]}


def test_a_host_script_makes_the_round_byte_by_byte(spread: Site, workplace: Path) -> None:
    script = ok("hosts", "train", "--script")
    (workplace / "discover.sh").write_text(script)

    run = subprocess.run(["/bin/sh", "discover.sh"], capture_output=True, text=True, check=True)
    ok("hosts", "train", "--apply", "discover.sh")

    assert run.stdout == ok("hosts", "train")
    pin = spread.job("k1").pin
    assert pin is not None
    assert pin.nodes == {"node-0": 1, "node-1": 2}
    assert ok("hosts", "train", "--script") == script


def test_an_edited_host_file_is_noticed(
    spread: Site, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hosts_command.LOOK_EVERY < 2
    monkeypatch.setattr(hosts_command, "LOOK_EVERY", 0.01)
    file = workplace / "discover.sh"
    file.write_text("echo node-0:1\n")
    results = []
    thread = threading.Thread(
        target=lambda: results.append(tenuto("hosts", "train", "--apply", "discover.sh", "--watch"))
    )
    thread.start()

    def nodes() -> dict[str, int]:
        pin = spread.job("k1").pin
        return {} if pin is None else dict(pin.nodes)

    until(lambda: nodes() == {"node-0": 1})
    file.write_text("echo node-0:1\necho node-1:2\n")
    until(lambda: nodes() == {"node-0": 1, "node-1": 2})
    file.write_text("rm -rf /\n")
    file.write_text("echo node-1:3\n")
    until(lambda: nodes() == {"node-1": 3})
    spread.change("k1", phase=Phase.SUCCEEDED, slots={}, ended_at=time.time())
    thread.join(20)

    assert results[0].exit_code == 0


def test_watching_needs_a_file(spread: Site) -> None:
    assert tenuto("hosts", "train", "--watch").exit_code == 2


def test_the_schema_knows_every_key() -> None:
    printed = json.loads(ok("schema"))

    assert printed == job_file_schema()
    assert set(printed["properties"]) == {*JobIn.model_fields, "hosts"}
    assert "name" not in printed.get("required", [])


def test_completion_can_be_installed() -> None:
    told = ok("--show-completion", "bash")

    assert "_TENUTO_COMPLETE" in told or "complete_bash" in told


def test_a_list_of_jobs_does_not_wait_for_the_laboratory() -> None:
    """What takes long to import has no business in a command that is typed all day."""
    program = (
        "import sys\n"
        "from tenuto.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'numba', 'matplotlib', 'sqlalchemy', 'fastapi', 'uvicorn'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))\n"
    )
    for arguments in (["ps", "--help"], ["--help"], ["--version"]):
        ran = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
        )
        assert ran.stderr == "", arguments
        assert ran.stdout


def test_not_even_when_it_asks_a_server(site: Site) -> None:
    program = (
        "import sys\n"
        "from tenuto.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code\n"
        "sys.stderr.write(' '.join(sorted({'numpy', 'numba', 'sqlalchemy'} & set(sys.modules))))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program, "ps"], capture_output=True, text=True, check=True)

    assert ran.stderr == "No job waits or runs; tenuto ps --all also lists those that have ended.\n"
    assert ran.stdout.startswith("id ")
