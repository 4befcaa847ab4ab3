"""`tenuto run`: a job attached to a terminal."""

from __future__ import annotations

import json
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from tests.cli.live.site import Site, admitted, declined, tenuto, until

from tenuto.cli import log_follow
from tenuto.cli import run as run_command
from tenuto.cli.console import Console
from tenuto.cli.verdict import has_become, print_verdict
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.phase import Phase


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_follow, "LOOK_EVERY", 0.01)


def runs(site: Site, end: Phase, code: int | None) -> AbstractContextManager[None]:
    """A platform that runs a job at once to this end."""

    def answer(job: Job) -> Job:
        site.prints(job.id, "hello from the job\n")
        site.prints(job.id, f"Program exit with code {code}\n")
        return replace(admitted(job), phase=Phase.RUNNING, generation=1, slots={"node-0": (0,)})

    def finish() -> None:
        until(lambda: any(job.phase is Phase.RUNNING for job in site.jobs()))
        [job] = site.jobs()
        site.add_attempt(job.id, ended_at=time.time(), exit_code=code)
        site.change(job.id, phase=end, exit_code=code, slots={}, ended_at=time.time())

    threading.Thread(target=finish).start()
    return site.answering(answer)


@pytest.mark.parametrize(
    ("end", "code", "exit_code"),
    [
        (Phase.SUCCEEDED, 0, 0),
        (Phase.FAILED, 42, 42),
        (Phase.FAILED, None, 1),
        (Phase.LOST, None, 1),
        (Phase.CANCELLED, 143, 143),
    ],
)
def test_it_prints_what_the_job_prints_and_ends_as_the_job_ends(
    site: Site, end: Phase, code: int | None, exit_code: int
) -> None:
    with runs(site, end, code):
        result = tenuto("run", "--workers", "1..2", "-e", "A=b", "python", "train.py", "--workers", "7")

    assert result.exit_code == exit_code
    assert result.stdout == f"hello from the job\nProgram exit with code {code}\n"
    assert "admitted: yes, with a promise" in result.stderr
    assert f"train {has_become(end)}" in result.stderr


def test_a_declined_command_ends_with_3(site: Site) -> None:
    with site.answering(declined):
        result = tenuto("run", "--", "python", "train.py")

    assert result.exit_code == 3
    assert result.stdout == ""
    assert "answer  " in result.stderr and "declined" in result.stderr


def test_detached_it_returns_after_the_answer(site: Site) -> None:
    with site.answering(admitted):
        result = tenuto("run", "-d", "--name", "훈련", "--", "python", "train.py")

    assert result.exit_code == 0
    assert "훈련" in result.stdout
    [job] = site.jobs()
    assert job.spec.run == ("python", "train.py")


def test_detached_it_can_speak_json(site: Site) -> None:
    with site.answering(declined):
        result = tenuto("run", "-d", "--json", "--", "python", "train.py")

    assert result.exit_code == 3
    assert json.loads(result.stdout)["state"] == "declined"
    assert tenuto("run", "--json", "--", "ls").exit_code == 2


def test_the_first_interruption_cancels_the_job_and_waits(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    interruptions = iter([KeyboardInterrupt, None])
    real = log_follow.follow_logs

    def interrupted(reader: log_follow.LogReader, job: dict[str, Any], **named: Any) -> object:
        if (interruption := next(interruptions)) is not None:
            reader.read(1)
            raise interruption
        return real(reader, job, **named)

    def obey(_: int) -> None:
        for job in site.jobs():
            if job.cancel:
                cancelled = {"phase": Phase.CANCELLED, "message": "cancelled by kim", "ended_at": time.time()}
                site.add_attempt(job.id, ended_at=time.time(), exit_code=143)
                site.change(job.id, generation=1, **cancelled)

    def start(job: Job) -> Job:
        site.prints(job.id, "printed once\n")
        return replace(admitted(job), phase=Phase.RUNNING, generation=1, slots={"node-0": (0,)})

    monkeypatch.setattr(run_command, "follow_logs", interrupted)
    end = site.store.listen(obey)
    with site.answering(start):
        result = tenuto("run", "--", "sleep", "100")
    end()

    assert result.exit_code == 130
    assert result.stdout == "printed once\n"
    assert "cancelling sleep" in result.stderr
    assert "sleep was cancelled by kim\n" in result.stderr


def test_the_second_interruption_leaves_the_job_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_command, "follow_logs", interrupted)
    with site.answering(admitted):
        result = tenuto("run", "--", "sleep", "100")

    assert result.exit_code == 130
    assert "left alone; see tenuto show" in result.stderr
    assert [job.cancel for job in site.jobs()] == [True]


def test_the_firm_answer_after_measuring_is_told(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def tell(job: dict[str, Any], out: Console, *, attached: bool) -> None:
        told.append(job["contract"]["reply"])
        print_verdict(job, out, attached=attached)

    def measure(job: Job) -> Job:
        contract = Contract(reply=Reply.MEASURING, why="measuring", message="", answered_at=time.time())
        return replace(job, phase=Phase.RUNNING, generation=1, slots={"node-0": (0,)}, contract=contract)

    def go_on() -> None:
        until(lambda: told == ["measuring"])
        [job] = site.jobs()
        site.change(job.id, contract=admitted(job).contract)
        until(lambda: told == ["measuring", "admitted"])
        site.change(job.id, phase=Phase.SUCCEEDED, exit_code=0, slots={}, ended_at=time.time())

    monkeypatch.setattr(run_command, "print_verdict", tell)
    threading.Thread(target=go_on).start()
    with site.answering(measure):
        result = tenuto("run", "--", "python", "train.py")

    assert "admitted: yes, with a promise" in result.stderr
    assert "Next" not in result.stderr
