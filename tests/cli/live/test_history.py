"""`tenuto history` and `tenuto policy shadow`: counted, exported whole or not at all, and asked for."""

from __future__ import annotations

import csv
import json
import shlex
import time
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from tests.cli.live.site import Served, Site, admitted, as_json, declined, ok, tenuto

from tenuto.forecast.past import Guess, LeftOut
from tenuto.forecast.shadow import KEY
from tenuto.lab import past_export, past_words
from tenuto.live.shadow import Pace, Shadows
from tenuto.model.phase import Phase, PromiseState
from tenuto.settings import Scheduling

CURVE = {1: 1.0, 2: 1.9, 4: 3.5}


@pytest.fixture
def past(site: Site) -> Site:
    """A node; a job that was kept, one that was declined, and one that nothing is known of."""
    site.add_node("노드-0", 4)
    now = time.time()
    asked: dict[str, Any] = {"spec": {"steps": 100.0, "global_batch": 64}, "curve": CURVE}
    kept = site.add_job("k1", "학습, 첫째", deadline=now + 3600, submitted_at=now - 600, **asked)
    kept = admitted(kept)
    site.change(
        "k1",
        contract=kept.contract,
        phase=Phase.SUCCEEDED,
        promise=PromiseState.KEPT,
        started_at=now - 500,
        ended_at=now - 100,
    )
    refused = site.add_job("k2", "둘째", deadline=now + 10, submitted_at=now - 400, **asked)
    refused = declined(refused)
    site.change("k2", contract=refused.contract, phase=Phase.DECLINED, ended_at=now - 400)
    site.add_job("k3", "셋째", submitted_at=now)
    return site


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """An empty directory."""
    made = tmp_path / "místo"
    made.mkdir()
    return made


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


class TestCounting:
    def test_the_past_is_counted_by_week_and_end(self, past: Site) -> None:
        header, *weeks = ok("history", "--since", "1d").splitlines()

        assert header.split() == [
            *("week", "of", "jobs", "succeeded", "failed", "cancelled", "lost", "declined", "other"),
            *("kept", "broken"),
        ]
        assert sum(int(week.split()[3]) for week in weeks) == 3

    def test_programs_get_the_same(self, past: Site) -> None:
        told = as_json("history", "--since", "1d")

        assert told["jobs"] == 3
        [*_, week] = told["weeks"]
        assert (week["states"]["succeeded"], week["promises"]["kept"]) == (1, 1)

    def test_no_past_is_an_empty_table(self, site: Site) -> None:
        assert len(ok("history").splitlines()) == 1


class TestExport:
    def test_it_writes_everything_that_a_replay_needs_and_tells_the_command(
        self, past: Site, place: Path
    ) -> None:
        out = place / "listopad"

        printed = ok("history", "export", "--out", str(out))

        words = shlex.split(printed.splitlines()[-1])
        assert words[:5] == ["tenuto", "replay", f"{out}/trace.csv", "--profiles", f"{out}/profiles.csv"]
        assert {file.name for file in out.iterdir()} == {
            *("trace.csv", "profiles.csv", "cluster.yaml", "costs.json", "jobs.csv", "about.json"),
        }
        assert [row["job_id"] for row in rows(out / "trace.csv")] == ["k1", "k2"]
        assert [(row["name"], row["owner"], row["left_out"]) for row in rows(out / "jobs.csv")] == [
            ("학습, 첫째", "kim", ""),
            ("둘째", "kim", ""),
            ("셋째", "kim", "never_ran"),
        ]
        assert "노드-0" in (out / "cluster.yaml").read_text(encoding="utf-8")
        about = json.loads((out / "about.json").read_text(encoding="utf-8"))
        assert (about["jobs"], about["curves"], about["left_out"]) == (2, 1, {"never_ran": 1})

    def test_what_it_tells_can_be_typed(self, past: Site, place: Path) -> None:
        told = as_json("history", "export", "--out", str(place / "s mezerou"))

        replayed = tenuto(*shlex.split(told["command"])[1:], "--json")

        assert replayed.exit_code == 0, replayed.output
        assert [row["deadline_jobs"] for row in json.loads(replayed.stdout)] == [2, 2]

    def test_nobody_is_named_if_that_is_wished(self, past: Site, place: Path) -> None:
        out = place / "anonym"

        ok("history", "export", "--out", str(out), "--anonymous")

        everything = "".join(file.read_text(encoding="utf-8") for file in out.iterdir())
        assert not any(word in everything for word in ("학습", "kim", "노드", "k1"))
        assert [row["job_id"] for row in rows(out / "trace.csv")] == ["job-1", "job-2"]

    def test_what_is_there_is_overwritten_only_by_force(self, past: Site, place: Path) -> None:
        own = place / "notes.txt"
        own.write_text("keep me")
        done = tenuto("history", "export", "--out", str(place))
        assert "there is something in it already" in str(done.exception)
        assert list(place.iterdir()) == [own]

        ok("history", "export", "--out", str(place), "--force")

        assert own.read_text() == "keep me"
        assert (place / "trace.csv").exists()

    def test_a_file_is_no_place_for_it_even_by_force(self, past: Site, place: Path) -> None:
        (place / "file").touch()

        done = tenuto("history", "export", "--out", str(place / "file"), "--force")

        assert "this is a file" in str(done.exception)

    def test_a_failure_on_the_way_leaves_nothing_behind(
        self, past: Site, place: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(past_export, "_write_jobs", fail)

        done = tenuto("history", "export", "--out", str(place / "nic"))

        assert "cannot be written (No space left on device)" in str(done.exception)
        assert list(place.iterdir()) == []

    def test_a_time_without_jobs_cannot_be_exported(self, site: Site, place: Path) -> None:
        done = tenuto("history", "export", "--out", str(place / "prázdno"))

        assert "no job of that time can be told of" in str(done.exception)
        assert list(place.iterdir()) == []

    def test_an_option_in_the_wrong_place_is_not_passed_over(self, past: Site, place: Path) -> None:
        done = tenuto("history", "--since", "1d", "export", "--out", str(place / "x"))

        assert "options of export stand behind it" in str(done.exception)

    def test_settings_of_the_policy_in_force_are_part_of_the_command(self, place: Path) -> None:
        time_ = {"policy": "gandiva", "settings": {"quantum": 90}, "interval": 60.0, "margin": 0.1}
        rest = {"placement": "pack", "seed": 3}

        told = past_export.command(place, time_ | rest)

        assert told.endswith("--policy gandiva,themis --seed 3 --set gandiva.quantum=90")


def test_every_code_is_explained() -> None:
    assert past_words.REASONS.keys() == {*(str(one) for one in Guess), *(str(one) for one in LeftOut)}


class TestShadow:
    def test_policies_are_named_with_their_settings(self, site: Site) -> None:
        told = as_json("policy", "shadow", "themis,gandiva", "--set", "gandiva.quantum=90")

        assert [(one["policy"], one["settings"]) for one in told["shadows"]] == [
            ("themis", {}),
            ("gandiva", {"quantum": 90}),
        ]
        assert len(site.store.read(lambda tx: tx.meta(KEY))) == 2

    def test_off_ends_it(self, site: Site) -> None:
        ok("policy", "shadow", "themis")

        ok("policy", "shadow", "--off")

        assert site.store.read(lambda tx: tx.meta(KEY)) is None

    def test_the_report_tells_who_has_not_decided_yet(self, site: Site) -> None:
        ok("policy", "shadow", "themis")

        for report in (ok("policy", "shadow"), ok("policy", "shadow", "--report", "--since", "1d")):
            assert [line.split()[0] for line in report.splitlines()[1:3]] == ["elasticflow,", "themis"]

    def test_the_report_begins_with_the_deadlines(
        self, past: Site, one_server: Served, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ok("policy", "shadow", "fifo")
        shadows = Shadows(past.store, time.time, Scheduling())
        shadows.look(Pace(Event(), share=1.0))
        monkeypatch.setattr(one_server.app.state, "shadows", lambda: shadows.shown)

        report = ok("policy", "shadow")

        assert "fifo would have held 1 more deadline (as of" in report
        assert "둘째 (k2) would have been admitted" in report

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (["themis", "--off"], "three different things"),
            (["themis", "--report"], "three different things"),
            (["--set", "quantum=1"], "how a policy is set"),
            (["themis,fifo", "--set", "quantum=1"], "does not say of which policy"),
            (["themis", "--set", "gandiva.quantum=1"], "not to decide along"),
            ([","], "no policy is named"),
            (["themsi"], "there is no policy"),
        ],
    )
    def test_a_mistake_changes_nothing(self, site: Site, arguments: list[str], problem: str) -> None:
        done = tenuto("policy", "shadow", *arguments)

        assert problem in str(done.exception)
        assert site.store.read(lambda tx: tx.meta(KEY)) is None
