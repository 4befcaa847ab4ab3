"""`tenuto ps` and `tenuto show`: how jobs are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml
from rich.cells import cell_len
from tests.cli.live.site import Site, admitted, as_json, declined, ok, tenuto

from tenuto.cli import jobs as ps_command
from tenuto.cli.job_tables import eta
from tenuto.model.job import Pin, Progress, Role
from tenuto.model.phase import Phase, PromiseState
from tenuto.wire.replies import EtaOut, JobOut


def rows(*arguments: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in ok("ps", *arguments).splitlines()]


def test_every_job_that_lives_has_a_line(site: Site) -> None:
    site.add_node("node-0")
    site.add_job("k1", "queued-one")
    site.add_job(
        "k2", "runner", phase=Phase.RUNNING, slots={"node-0": (0, 1)}, generation=1, failures=1, losses=2
    )
    site.add_job("k3", "done", phase=Phase.SUCCEEDED, ended_at=time.time())

    assert rows() == [
        ["id", "name", "state", "ready", "restarts", "age", "node", "eta", "promise"],
        ["k2", "runner", "running", "2/2", "3", "3", "h", "node-0", "-", "-"],
        ["k1", "queued-one", "queued", "-", "0", "3", "h", "-", "-", "-"],
    ]
    assert [row[0] for row in rows("-a")] == ["id", "k3", "k2", "k1"]
    assert [row[0] for row in rows("--state", "succeeded,queued")] == ["id", "k3", "k1"]


def test_readiness_is_told_for_each_role(site: Site) -> None:
    site.add_job(
        "k1",
        phase=Phase.STARTING,
        slots={"node-0": (0, 1)},
        generation=1,
        spec={"roles": {"ps": Role(count=1)}},
    )
    site.add_attempt("k1", 0)

    assert "worker 1/2 ps 0/1" in ok("ps")


def test_wide_tells_more(site: Site) -> None:
    site.add_job(
        "k1",
        phase=Phase.RUNNING,
        slots={"node-0": (0,), "node-1": (0, 1)},
        pin=Pin(workers=3),
        urgent=True,
        promise=PromiseState.AT_RISK,
        contract=admitted(site.add_job("k0")).contract,
        spec={"labels": {"team": "시각"}},
    )

    [line] = [line for line in ok("ps", "-w").splitlines() if line.startswith("k1")]

    for told in ("node-0:1,node-1:2", "1..4 (pinned 3)", "kim", "urgent", "team=시각", "at risk, "):
        assert told in line


def test_columns_stay_in_line_whatever_the_script(site: Site) -> None:
    for key, name in (("k1", "训练模型"), ("k2", "학습"), ("k3", "żółw"), ("k4", "plain")):
        site.add_job(key, name)

    starts = {cell_len(line.partition("queued")[0]) for line in ok("ps").splitlines()[1:]}

    assert len(starts) == 1


def test_jobs_can_be_picked_by_label_owner_and_text(site: Site) -> None:
    site.add_job("k1", "a", spec={"labels": {"team": "vision", "run": "1"}})
    site.add_job("k2", "b", spec={"labels": {"team": "vision"}})
    site.add_job("k3", "c", owner="lee")

    assert [row[0] for row in rows("-l", "team=vision", "-l", "run=1")] == ["id", "k1"]
    assert [row[0] for row in rows("--owner", "lee")] == ["id", "k3"]
    assert [row[0] for row in rows("--text", "B")] == ["id", "k2"]


def test_a_long_list_comes_in_pages(site: Site) -> None:
    for number in range(7):
        site.add_job(f"k{number}", f"job-{number}")

    first = tenuto("ps", "--limit", "3")
    cursor = first.stderr.split()[-1]
    second = as_json("ps", "--limit", "3", "--cursor", cursor)
    third = as_json("ps", "--limit", "3", "--cursor", second["next"])

    assert [line.split()[0] for line in first.stdout.splitlines()[1:]] == ["k6", "k5", "k4"]
    assert [job["id"] for job in second["items"]] == ["k3", "k2", "k1"]
    assert [job["id"] for job in third["items"]] == ["k0"]
    assert third["next"] is None


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--state", "runing"], "there is no state 'runing'. Did you mean running?"),
        (["-l", "team"], "--label 'team' has no key and value"),
        (["--cursor", "nonsense"], "this is no cursor of ours"),
    ],
)
def test_bad_filters_are_refused(site: Site, arguments: list[str], told: str) -> None:
    result = tenuto("ps", *arguments)

    assert result.exit_code == 2
    assert told in result.stderr


def test_watching_goes_on_until_somebody_has_seen_enough(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.add_job("k1", "first")
    looks = 0

    def wait(_: float) -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            raise KeyboardInterrupt
        site.add_job("k2", "second")

    monkeypatch.setattr(ps_command, "pause", wait)

    assert "second" in ok("ps", "--watch")
    assert looks == 2


def test_the_old_name_of_ps_is_understood_and_not_advertised(site: Site) -> None:
    site.add_job("k1", "first")

    assert "first" in ok("queue")
    assert "queue" not in ok("--help")


def a_running_job(site: Site) -> None:
    site.add_node("node-0")
    job = site.add_job(
        "k1aaaaaaaa",
        "학습",
        phase=Phase.RUNNING,
        slots={"node-0": (0,)},
        generation=2,
        started_at=time.time() - 100,
        ran_for=60.0,
        losses=1,
        curve={1: 10.0, 2: 20.0},
        pin=Pin(workers=3),
        spec={"steps": 2000.0, "curve": {1: 10.0, 2: 20.0}, "labels": {"a": "b"}, "env": {"PATH2": "żółć"}},
    )
    site.answer(job.id, admitted)
    site.change(job.id, phase=Phase.RUNNING, promise=PromiseState.AT_RISK, breach="node-1 was lost")
    site.add_attempt(job.id, 0, generation=1, ended_at=time.time(), exit_code=137, reason="vanished")
    site.add_attempt(job.id, 0, generation=2)


def test_show_tells_everything(site: Site) -> None:
    a_running_job(site)

    told = ok("show", "학습")

    for part in (
        "학습 (k1aaaaaaaa)",
        "admitted: yes, with a promise",
        "2 slots at least",
        "at risk: node-1 was lost",
        "of 2,000 steps",
        "1 of 1..4 (pinned 3)",
        "1: 10, 2: 20, 3: interpolated",
        "0 after failures, 1 after lost workers",
        "exit code 137, vanished",
        "worker/0",
        "4711",
        "a=b",
    ):
        assert part in told, part
    spec = yaml.safe_load(told[told.index("\nname: 학습") :])
    assert spec["curve"] == {1: 10, 2: 20}
    assert spec["env"] == {"PATH2": "żółć"}


def test_show_as_json_has_the_attempts_too(site: Site) -> None:
    a_running_job(site)

    told: dict[str, Any] = as_json("show", "k1aa")

    assert told["name"] == "학습"
    assert [attempt["generation"] for attempt in told["attempts"]] == [1, 2]


def test_many_attempts_do_not_flood_the_terminal(site: Site) -> None:
    site.add_job("k1")
    for generation in range(1, 31):
        site.add_attempt("k1", 0, generation=generation)

    told = ok("show", "k1")

    assert "… and 10 earlier ones, which --json lists" in told
    assert told.count("worker/0") == 20


def test_why_a_job_was_declined_can_be_read_later(site: Site) -> None:
    site.add_job("k1")
    site.answer("k1", declined)

    told = ok("show", "k1")

    assert "It needs more slots than there are" in told
    assert "1,200 steps by that deadline" in told


def test_a_job_that_is_not_there_is_told_with_4(site: Site) -> None:
    site.add_job("k1", "train")

    result = tenuto("show", "trane")

    assert result.exit_code == 4
    assert result.stderr == "tenuto: there is no job 'trane'. Did you mean train?\n"


def test_the_answer_is_told_once_and_nothing_is_ahead_of_a_job_that_has_ended(site: Site) -> None:
    job = site.add_job("k1", deadline=time.time() + 600)
    yes = admitted(job)
    site.change("k1", contract=yes.contract, promise=yes.promise, message="It fits")

    living = ok("show", "k1")
    site.change("k1", phase=Phase.SUCCEEDED, ended_at=time.time())
    ended = ok("show", "k1")

    assert "reason" not in living and "because" not in living
    assert "deadline" not in living
    assert "expected" in living
    assert "expected" not in ended
    assert "(in " not in ended


def test_a_no_has_its_counter_offers_in_lines_of_their_own(site: Site) -> None:
    no = declined(site.add_job("k1"))
    assert no.contract is not None
    sentence = "declined: 2030-01-01T00:00Z cannot be promised; 1200 steps would fit; in the way: 훈련 (k0)"
    site.change("k1", phase=no.phase, contract=replace(no.contract, message=sentence), message=sentence)

    rows = {line[:10].strip(): line[12:] for line in ok("show", "k1").splitlines()}

    assert rows["reason"].endswith("cannot be promised")
    assert rows["or"] == "1,200 steps by that deadline"
    assert rows["in the way"] == "훈련 (k0)"
    assert "because" not in rows


def test_lines_do_not_end_in_blanks(site: Site) -> None:
    site.add_job("k1", name="a")
    site.add_job("k2", name="zażółć", contract=None)

    printed = ok("ps") + ok("ps", "--wide") + ok("show", "k2") + ok("node", "ls") + ok("events")

    assert all(line == line.rstrip() for line in printed.splitlines())


def test_progress_tells_whole_steps_and_the_time_that_is_left(site: Site) -> None:
    site.add_job(
        "k1",
        spec={"steps": 4000.0},
        phase=Phase.RUNNING,
        slots={"node-0": (0,)},
        progress=Progress(left=3970.97, speed=40.0, as_of=time.time() + 60),
    )

    assert "29 of 4,000 steps (1%), 40 steps/s, 1 min 39 s more at this speed" in ok("show", "k1")


def foretold(shown: JobOut, finish: str, late: str) -> JobOut:
    """A job with its future."""
    eta = EtaOut(start=None, finish=finish, finish_p90=late, as_of="2026-11-16T12:00:00.000Z")
    return shown.model_copy(update={"eta": eta})


@pytest.mark.parametrize(
    ("late", "cell"),
    [
        ("2026-11-16T18:05:20.000Z", "today 18:05"),
        ("2026-11-16T18:40:00.000Z", "today 18:05 (≤ 18:40)"),
        ("2026-11-17T02:00:00.000Z", "today 18:05 (≤ tomorrow 02:00)"),
    ],
)
def test_an_eta_has_the_moment_that_mostly_holds_where_that_is_another(
    site: Site, late: str, cell: str
) -> None:
    now = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
    site.add_job("k1", phase=Phase.QUEUED)
    [shown] = [JobOut.model_validate(job) for job in as_json("ps")["items"]]

    with_eta = foretold(shown, "2026-11-16T18:05:00.000Z", late)

    assert in_utc(lambda: eta(with_eta, now)) == cell
    assert eta(shown, now) == "-"


def test_an_eta_that_has_passed_is_no_moment_of_the_past(site: Site) -> None:
    site.add_job("k1", phase=Phase.RUNNING)
    [shown] = [JobOut.model_validate(job) for job in as_json("ps")["items"]]
    passed = "2026-11-16T11:59:00.000Z"

    assert eta(foretold(shown, passed, passed), datetime(2026, 11, 16, 12, 0, tzinfo=UTC)) == "any moment"


def in_utc(told: Callable[[], str]) -> str:
    """What is told on a machine in UTC."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        try:
            return told()
        finally:
            patch.undo()
            time.tzset()
