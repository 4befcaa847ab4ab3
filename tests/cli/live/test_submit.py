"""`tenuto submit`: the answer is a contract."""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.live.site import Site, a_store, admitted, as_json, declined, ok, served, tenuto

from tenuto.cli import verdict
from tenuto.client.plain import Json, PlainClient
from tenuto.model.job import Job
from tenuto.model.phase import Phase


def a_file(text: str, name: str = "job.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_the_answer_is_a_promise_with_the_next_commands(site: Site) -> None:
    file = a_file("name: 학습\nrun: python train.py\nworkers: 1..4\n")

    with site.answering(admitted):
        told = ok("submit", file)

    [job] = site.jobs()
    lines = told.splitlines()
    assert lines[0].split() == ["job", "학습", f"({job.id})"]
    assert "admitted: yes, with a promise" in told
    assert "(in 2 h)" in told
    assert "2 slots at least" in told
    assert f"Next: tenuto logs -f {job.id}" in lines[-1]
    assert (job.spec.min_workers, job.spec.max_workers, job.owner) == (1, 4, "kim")


def test_a_file_may_be_named_by_an_option(site: Site) -> None:
    file = a_file("name: values\nrun: python train.py\n")

    with site.answering(admitted):
        told = ok("submit", "--name", "mnist", "-f", file)

    [job] = site.jobs()
    assert told.splitlines()[0].split() == ["job", "mnist", f"({job.id})"]
    assert "admitted" in told
    assert "Next: tenuto logs" in told


def test_a_declined_job_ends_with_3_and_counter_offers(site: Site) -> None:
    with site.answering(declined):
        result = tenuto("submit", a_file("run: a\n"))

    assert result.exit_code == 3
    assert "answer      declined\n" in result.stdout
    assert "It needs more slots than there are" in result.stdout
    assert "(in 4 h)" in result.stdout
    assert "1,200 steps by that deadline" in result.stdout
    assert "in the way  k1" in result.stdout
    assert "--set deadline=2" in result.stdout


def test_json_is_the_job_and_nothing_else(site: Site) -> None:
    with site.answering(declined):
        result = tenuto("submit", a_file("name: x\nrun: a\n"), "--json")

    told = json.loads(result.stdout)
    assert result.exit_code == 3
    assert (told["name"], told["state"]) == ("x", "declined")
    assert told["contract"]["offers"]["steps"] == 1200


def test_several_jobs_are_submitted_in_the_order_in_which_they_wait(site: Site) -> None:
    file = a_file("name: report\nrun: a\nafter: train\n---\nname: train\nrun: b\n")

    with site.answering(admitted):
        told = as_json("submit", file)

    first, second = sorted(site.jobs(), key=lambda job: job.number)
    assert [first.spec.name, second.spec.name] == ["train", "report"]
    assert second.spec.after is not None
    assert second.spec.after.job == first.id
    assert [job["name"] for job in told["items"]] == ["train", "report"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: a\nrun: a\nafter: b\n---\nname: b\nrun: a\nafter: a\n", "wait for each other"),
        ("name: a\nrun: a\n---\nname: b\nrn: a\n", "job.yaml, line 5, column 1: rn: there is no such key"),
        ("name: a\nrun: a\ndeadline: +2h\ncurve: {1: 1}\n", "an amount of work"),
    ],
)
def test_a_mistake_anywhere_submits_nothing(site: Site, text: str, told: str) -> None:
    result = tenuto("submit", a_file(text))

    assert result.exit_code == 2
    assert told in result.stderr
    assert site.jobs() == []


def test_what_only_the_server_knows_is_told_with_the_files_line(site: Site) -> None:
    result = tenuto("submit", a_file("name: a\nrun: a\nafter: nobody\n"))

    assert result.exit_code in (2, 4)
    assert "nobody" in result.stderr
    assert site.jobs() == []


def test_options_win_over_the_file(site: Site) -> None:
    file = a_file("name: a\nrun: a\nenv: {A: 1, B: 2}\nlabels: {x: y}\nworkers: 2\n")

    ok(
        *(
            "submit",
            file,
            "--detach",
            "--name",
            "b",
            "--workers",
            "1..3",
            "--steps",
            "100",
            "--curve",
            "{1: 2}",
        ),
        *("--deadline", "+2h", "--priority", "urgent", "-e", "B=3", "-l", "z=ż", "--set", "retry=2"),
        *("--set", "limits={memory: 1GB}"),
    )

    [job] = site.jobs()
    spec = job.spec
    assert (spec.name, spec.min_workers, spec.max_workers, spec.steps) == ("b", 1, 3, 100)
    assert spec.env == {"A": "1", "B": "3"}
    assert spec.labels == {"x": "y", "z": "ż"}
    assert (spec.curve, spec.deadline, job.urgent, spec.retry.failures) == ({1: 2.0}, "+2h", True, 2)
    assert spec.limits.memory == 10**9


def test_a_command_stands_behind_two_hyphens(site: Site, workplace: Path) -> None:
    told = ok(
        *("submit", "-d", "--workers", "2", "--min", "1", "--max", "4", "--nic", "eth0"),
        *("--", "python", "train.py", "--workers", "9"),
    )

    [job] = site.jobs()
    assert told == f"{job.id}\n"
    assert job.spec.run == ("python", "train.py", "--workers", "9")
    assert (job.spec.name, job.spec.min_workers, job.spec.max_workers, job.spec.preferred) == (
        "train",
        1,
        4,
        2,
    )
    assert job.spec.env == {"GLOO_SOCKET_IFNAME": "eth0", "NCCL_SOCKET_IFNAME": "eth0"}
    assert job.spec.workdir == str(workplace)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["submit"], "there is nothing to submit"),
        (["submit", "--"], "there is nothing to submit"),
        (["submit", "job.yaml", "--", "ls"], "both files and a command are given"),
        (["submit", "--workers", "1..4", "--min", "2", "--", "ls"], "--workers 1..4 is a range"),
        (["submit", "--set", "retry", "--", "ls"], "--set 'retry' has no key and value"),
        (["submit", "--set", "curve={1: ", "--", "ls"], "--set curve: this is not YAML"),
        (["submit", "--workers", "0", "--", "ls"], "0 is out of range"),
        (["submit", "--patience", "soon", "--", "ls"], "--patience soon is no duration"),
    ],
)
def test_bad_options_are_refused(site: Site, arguments: list[str], told: str) -> None:
    a_file("run: a\n")

    result = tenuto(*arguments)

    assert result.exit_code == 2
    assert told in result.stderr
    assert site.jobs() == []


def test_a_host_file_pins_the_workers_to_nodes(site: Site) -> None:
    site.add_node("node-0", address="10.0.0.1")
    site.add_node("node-1", address="10.0.0.2")
    a_file("echo 10.0.0.1:1\necho node-1:2\n", "hosts.sh")

    ok("submit", "-d", a_file("run: a\nhosts: hosts.sh\n"))

    [job] = site.jobs()
    assert job.pin is not None
    assert job.pin.nodes == {"node-0": 1, "node-1": 2}


@pytest.mark.parametrize(
    "again",
    [("submit", "--name", "train", "--fresh", "--detach", "--", "ls"), ("resubmit", "k1", "--fresh", "-d")],
)
def test_a_fresh_start_deletes_the_logs_of_earlier_runs_of_this_job_and_nothing_else(
    site: Site, again: tuple[str, ...]
) -> None:
    ended = {"phase": Phase.FAILED, "ended_at": 1.0}
    site.add_job("k1", "train", **ended)
    site.add_job("k2", "train")
    site.add_job("k3", "train", owner="lee", **ended)
    site.add_job("k4", "другой", **ended)
    for key in ("k1", "k2", "k3", "k4"):
        site.prints(key, f"old lines of {key}, schön\n")
    before = {key: written(site, key) for key in ("k2", "k3", "k4")}

    new = ok(*again).strip()

    assert [job["id"] for job in as_json("ps", "--all")["items"]] == [new, "k4", "k3", "k2", "k1"]
    assert site.logs.workers("k1") == []
    assert {key: written(site, key) for key in ("k2", "k3", "k4")} == before
    told = [(one["job"], one["actor"], one["after"]) for one in as_json("events", "--kind", "logs")["items"]]
    assert told == [("k1", "kim", "deleted")]


def written(site: Site, job: str) -> dict[str, bytes]:
    """What the workers of a job printed, byte for byte."""
    return {str(worker): site.logs.read(worker, 0, 1 << 20)[1] for worker in site.logs.workers(job)}


@pytest.mark.parametrize(
    ("meta", "value", "told"),
    [
        ("controller", {"state": "compiling", "at": 0.0}, "The controller compiles its kernels"),
        ("scheduling", {"wait_nodes": 9}, "It gets its answer when 9 nodes have joined; there are"),
    ],
)
def test_the_user_is_told_what_the_answer_waits_for(
    site: Site, monkeypatch: pytest.MonkeyPatch, meta: str, value: Json, told: str
) -> None:
    site.store.write(lambda tx: tx.set_meta(meta, value))
    real = verdict.reason_to_wait

    def told_then_answered(client: PlainClient) -> str:
        reason = real(client)
        site.answer(site.jobs()[0].id, admitted)
        return reason

    monkeypatch.setattr(verdict, "SAY_AFTER", 0.01)
    monkeypatch.setattr(verdict, "reason_to_wait", told_then_answered)

    result = tenuto("submit", a_file("run: a\n"))

    assert result.exit_code == 0
    assert result.stderr.count(told) == 1


def test_a_job_that_is_held_needs_no_verdict(site: Site) -> None:
    def hold_the_second(job: Job) -> Job:
        return admitted(job) if job.spec.after is None else replace(job, phase=Phase.HELD)

    with site.answering(hold_the_second):
        told = ok("submit", a_file("name: a\nrun: a\n---\nname: b\nrun: b\nafter: a\n"))

    assert "none yet (held)" in told


def test_the_order_of_start_does_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is submitted before there is a server appears once the server starts."""
    store, home = a_store(), tmp_path / "home"
    home.mkdir()
    (home / "token").write_text("a-user-token\n")
    monkeypatch.setenv("TENUTO_HOME", str(home))
    file, results = a_file("run: a\n"), []
    thread = threading.Thread(
        target=lambda: results.append(tenuto("submit", "-d", file, "--patience", "20s"))
    )
    thread.start()
    with served(store, tmp_path / "logs") as late:
        site = late.on(store, tmp_path / "logs")
        (home / "server.json").write_text(json.dumps({"url": late.url, "pid": 1, "port": 1}))
        thread.join(20)

        assert results[0].exit_code == 0, results[0].output
        assert [job.spec.name for job in site.jobs()] == ["job"]


def test_what_a_file_leaves_out_is_told_with_the_file(site: Site) -> None:
    file = a_file("name: a\n")

    result = tenuto("submit", file)

    assert result.exit_code == 2
    assert f"{file}: run: nothing is said about what to run" in result.stderr.replace("\n", " ")


def test_a_promise_says_which_curve_it_rests_on_if_the_file_gave_none(site: Site) -> None:
    def by_earlier_runs(job: Job) -> Job:
        return replace(admitted(job), curve_from="measured by earlier runs of 학습 (3 stretches)")

    with site.answering(by_earlier_runs):
        told = ok("submit", a_file("name: 학습\nrun: python train.py\n"))

    assert "by the curve  measured by earlier runs of 학습 (3 stretches)" in told
