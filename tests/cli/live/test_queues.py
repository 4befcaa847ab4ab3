"""The three queues as JSON: every job in one of them, in one object or in three files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.live.site import Site, ok, tenuto

from tenuto.cli import queues
from tenuto.errors import InputInvalid
from tenuto.model.phase import Phase

STATES = {
    "k1": Phase.SUBMITTED,
    "k2": Phase.PAUSED,
    "k3": Phase.RUNNING,
    "k4": Phase.STARTING,
    "k5": Phase.DECLINED,
    "k6": Phase.SUCCEEDED,
}
QUEUES = {"waiting": ["k2", "k1"], "running": ["k4", "k3"], "finished": ["k6", "k5"]}


@pytest.fixture(autouse=True)
def some_jobs(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "_PAGE", 2)  # so that several pages are read
    for key, phase in STATES.items():
        site.add_job(key, f"обучение-{key}", phase=phase)


def ids(jobs: list[dict[str, object]]) -> list[object]:
    return [job["id"] for job in jobs]


def test_the_three_queues_are_one_object() -> None:
    told = json.loads(ok("ps", "--queues", "--json"))

    assert {name: ids(jobs) for name, jobs in told.items()} == QUEUES
    assert told["running"][1]["name"] == "обучение-k3"


def test_each_queue_is_a_file_of_its_own(tmp_path: Path) -> None:
    there = tmp_path / "a" / "очереди"

    ok("ps", "--queues", "--out", str(there))

    assert sorted(path.name for path in there.iterdir()) == ["finished.json", "running.json", "waiting.json"]
    read = {name: ids(json.loads((there / f"{name}.json").read_text("utf-8"))) for name in QUEUES}
    assert read == QUEUES


def test_filters_count(tmp_path: Path) -> None:
    told = json.loads(ok("ps", "--queues", "--text", "k3"))

    assert {name: ids(jobs) for name, jobs in told.items()} == {
        "waiting": [],
        "running": ["k3"],
        "finished": [],
    }


def test_a_directory_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    refused = tenuto("ps", "--queues", "--out", str(tmp_path / "file"))

    assert isinstance(refused.exception, InputInvalid)
    assert "the queues cannot be written" in str(refused.exception)
