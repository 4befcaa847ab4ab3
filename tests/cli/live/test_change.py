"""`scale`, `pause`, `resume`, `cancel`, `update`, `resubmit` and `delete`."""

from __future__ import annotations

import json
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.live.site import Site, admitted, as_json, declined, ok, tenuto, until

from tenuto.model.job import After, Job
from tenuto.model.phase import Phase


@pytest.fixture
def running(site: Site) -> Site:
    """Two nodes of four slots, and a job with two workers on the first."""
    site.add_node("node-0")
    site.add_node("node-1")
    site.add_job("k1aaaaaaaa", "train", phase=Phase.RUNNING, slots={"node-0": (0, 1)}, generation=1)
    return site


def pin_of(site: Site, key: str = "k1aaaaaaaa") -> tuple[int, dict[str, int]] | None:
    pin = site.job(key).pin
    return None if pin is None else (pin.workers, dict(pin.nodes))


@pytest.mark.parametrize(
    ("arguments", "pin"),
    [
        (["4"], (4, {})),
        (["+1"], (3, {})),
        (["-1"], (1, {})),
        (["--", "-1"], (1, {})),
        (["+1", "--node", "node-1"], (3, {"node-0": 2, "node-1": 1})),
        (["--node", "node-0", "-1"], (1, {"node-0": 1})),
        (["3", "--node", "node-1"], (3, {"node-1": 3})),
    ],
)
def test_scale_fixes_the_number_of_workers(
    running: Site, arguments: list[str], pin: tuple[int, dict[str, int]]
) -> None:
    told = ok("scale", "train", *arguments)

    assert pin_of(running) == pin
    assert told == f"train (k1aaaaaaaa) is to have {pin[0]} worker{'' if pin[0] == 1 else 's'}.\n"


def test_a_size_that_was_never_measured_is_marked(running: Site) -> None:
    running.change("k1aaaaaaaa", curve={1: 1.0, 4: 3.0})

    assert ok("scale", "train", "3").endswith(" 3 workers; how fast they are is interpolated.\n")
    assert ok("scale", "train", "4").endswith(" 4 workers.\n")


def test_scale_auto_leaves_it_to_the_policy_again(running: Site) -> None:
    ok("scale", "train", "4")

    told = ok("scale", "train", "auto")

    assert pin_of(running) is None
    assert "as many workers as the policy gives it" in told


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["5"], 5, "4"),
        (["0"], 5, ""),
        (["-2"], 5, ""),
        (["many"], 2, "'many' is no number of workers. Write 4, +1, -1 or auto"),
        (["auto", "--node", "node-1"], 2, "auto chooses the nodes, too"),
        (["+1", "--node", "node-7"], 4, "node-7"),
        (["4", "--nod", "node-7"], 2, "No such option"),
    ],
)
def test_a_size_that_cannot_be_changes_nothing(
    running: Site, arguments: list[str], code: int, told: str
) -> None:
    before = running.job("k1aaaaaaaa")

    result = tenuto("scale", "train", *arguments)

    assert result.exit_code == code, result.output
    assert told in result.stdout + result.stderr
    assert running.job("k1aaaaaaaa") == before


def test_pause_and_cancel_are_noted_at_once(running: Site) -> None:
    assert ok("pause", "train") == "train (k1aaaaaaaa) will be paused.\n"
    assert running.job("k1aaaaaaaa").pause
    assert "running (pausing)" in ok("ps")

    assert as_json("cancel", "train")["wish"] == "cancel"
    assert running.job("k1aaaaaaaa").cancel
    assert "running (ending)" in ok("ps")


def test_with_wait_they_return_when_it_is_done(running: Site) -> None:
    def obey(job: Job) -> Job:
        if job.cancel and job.phase is not Phase.CANCELLED:
            return replace(job, phase=Phase.CANCELLED, slots={}, ended_at=time.time())
        if job.pause and job.phase is Phase.RUNNING:
            return replace(job, phase=Phase.PAUSED, slots={})
        return job

    def controller(_: int) -> None:
        for job in running.jobs():
            if obey(job) != job:
                running.answer(job.id, obey)

    end = running.store.listen(controller)
    assert ok("pause", "train", "--wait") == "train (k1aaaaaaaa) is paused.\n"
    assert ok("stop", "train", "--wait") == "train (k1aaaaaaaa) was cancelled.\n"
    end()


def test_a_resumed_job_gets_a_new_answer(running: Site) -> None:
    running.change("k1aaaaaaaa", phase=Phase.PAUSED, pause=True, slots={})

    with running.answering(admitted):
        told = ok("resume", "train", "--wait")

    assert "admitted: yes, with a promise" in told


def test_a_job_that_cannot_go_on_stays_paused(running: Site) -> None:
    running.change("k1aaaaaaaa", phase=Phase.PAUSED, pause=True, slots={})

    with running.answering(lambda job: replace(declined(job), phase=Phase.PAUSED, pause=True, ended_at=None)):
        result = tenuto("resume", "train", "--wait")

    assert result.exit_code == 3
    assert "It needs more slots than there are" in result.stdout


def test_what_cannot_be_is_told_with_5(running: Site) -> None:
    running.change("k1aaaaaaaa", phase=Phase.SUCCEEDED, slots={}, ended_at=time.time())

    for verb in ("pause", "resume", "cancel"):
        result = tenuto(verb, "train")
        assert result.exit_code == 5
        assert "has ended" in result.stderr


def test_update_changes_what_may_be_changed(site: Site) -> None:
    site.add_job("k1", "train", spec={"labels": {"a": "1", "b": "2"}})
    site.add_job("k2", "prepare")

    ok(
        *("update", "train", "--name", "훈련", "--priority", "urgent", "--after", "prepare"),
        *("-l", "c=3", "--unlabel", "a"),
    )

    job = site.job("k1")
    assert (job.spec.name, job.urgent) == ("훈련", True)
    assert job.spec.labels == {"b": "2", "c": "3"}
    assert job.spec.after == After(job="k2")

    ok("update", "k1", "--after", "none")
    assert site.job("k1").spec.after is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "nothing is to be changed"),
        (["--unlabel", "x"], "the job has no label 'x'. It has a"),
        (["--deadline", "-3h"], "-3h"),
        (["--priority", "high"], "priority: "),
    ],
)
def test_a_bad_update_changes_nothing(site: Site, arguments: list[str], told: str) -> None:
    before = site.add_job("k1", "train", spec={"labels": {"a": "1"}, "steps": 9.0, "curve": {1: 1.0}})

    result = tenuto("update", "train", *arguments)

    assert result.exit_code == 2
    assert told in result.stderr
    assert site.job("k1") == before


def test_a_job_is_submitted_again_with_changes(site: Site) -> None:
    site.add_job("k1", "train", phase=Phase.FAILED, ended_at=1.0, spec={"env": {"A": "1"}})

    with site.answering(admitted):
        told = as_json("resubmit", "train", "--set", "workers=2", "--set", "env=none")

    assert told["resubmitted_from"] == "k1"
    assert (told["min_workers"], told["max_workers"]) == (2, 2)
    assert site.job(told["id"]).spec.env == {}


def an_editor(place: Path, script: str) -> str:
    """A program that edits the file it is given."""
    path = place / "editor"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_job_can_be_edited_before_it_is_submitted_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add_job("k1", "훈련", spec={"env": {"A": "1"}, "steps": 100.0})
    monkeypatch.setenv(
        "EDITOR",
        an_editor(tmp_path, "sed -i -e 's/A: .*/A: zwei/' -e '/^total/,/steps/d' -e '/^name/d' \"$1\""),
    )
    monkeypatch.delenv("VISUAL", raising=False)

    told = ok("resubmit", "훈련", "--edit", "-d").strip()

    spec = site.job(told).spec
    assert (spec.name, spec.env, spec.steps) == ("훈련", {"A": "zwei"}, None)


@pytest.mark.parametrize("script", ["true", ': > "$1"', "sed -i 's/^[^#]/# &/' \"$1\""])
def test_an_edit_that_changes_nothing_submits_nothing(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    site.add_job("k1", "train")
    monkeypatch.setenv("VISUAL", an_editor(tmp_path, script))

    result = tenuto("resubmit", "train", "--edit")

    assert result.exit_code == 0
    assert result.stderr == "Nothing was changed, so nothing was submitted.\n"
    assert len(site.jobs()) == 1


def test_what_was_written_in_the_editor_is_not_lost(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.add_job("k1", "train")
    monkeypatch.setenv("VISUAL", an_editor(tmp_path, 'echo "wrkers: 3" >> "$1"'))

    result = tenuto("resubmit", "train", "--edit")

    assert result.exit_code == 2
    assert "wrkers: there is no such key. Did you mean workers?" in result.stderr
    kept = Path(result.stderr.splitlines()[0].removeprefix("What you wrote is kept in "))
    assert kept.read_text().endswith("wrkers: 3\n")
    kept.unlink()


def test_an_editor_that_fails_submits_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add_job("k1", "train")
    monkeypatch.setenv("VISUAL", "/nowhere/editor")

    assert tenuto("resubmit", "train", "--edit").exit_code == 2
    assert len(site.jobs()) == 1


def test_delete_forgets_a_job_and_those_that_wait_for_it(site: Site) -> None:
    site.add_job("k1", "a", phase=Phase.SUCCEEDED, ended_at=1.0)
    site.add_job("k2", "b", phase=Phase.HELD, spec={"after": After(job="k1")})
    site.add_job("k3", "c", phase=Phase.HELD, spec={"after": After(job="k2")})

    told = json.loads(ok("delete", "a", "--cascade", "-y", "--json"))

    assert sorted(told["deleted"]) == ["k1", "k2", "k3"]
    assert site.jobs() == []


def test_delete_asks_first(site: Site) -> None:
    site.add_job("k1", "a")

    result = tenuto("delete", "a")

    assert result.exit_code == 2
    assert result.stderr == "tenuto: nobody can be asked whether to delete it. Say --yes\n"
    assert ok("delete", "a", "--yes") == "Deleted k1.\n"


def test_a_job_with_workers_is_not_deleted(running: Site) -> None:
    result = tenuto("delete", "train", "-y")

    assert result.exit_code == 5
    until(lambda: running.job("k1aaaaaaaa").phase is Phase.RUNNING)
