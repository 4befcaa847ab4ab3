"""A worker's own log: for people, for programs, and for a quick look."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sdk.disk import room_for

from tenuto.sdk.worker_log import WorkerLog, write_progress


def test_people_get_the_log_they_know(tmp_path: Path) -> None:
    log = WorkerLog(tmp_path / "logs", "Rechner/1-é", "0")
    record = {"kind": "step", "step": 120, "at": 1e9, "seconds": 0.5, "samples_per_second": 128.0, "rank": 0}

    log.write(json.dumps(record).encode() + b"\n", record)
    log.write(b'{"kind":"rescale"}\n', {"kind": "rescale", "step": 121})

    assert (tmp_path / "logs" / "Rechner_1-é_worker0.txt").read_text(encoding="utf-8").splitlines() == [
        "global_step: 120 samples_per_sec: 128.0",
        "[120] node/worker: Rechner/1-é/0 -> elapsed time: 0.500000",
        "[120] node/worker: Rechner/1-é/0 -> current time: 2001-09-09T01:46:40+00:00",
    ]
    records = (tmp_path / "logs" / "Rechner_1-é_worker0.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(text)["kind"] for text in records] == ["step", "rescale"]


def test_progress_is_one_line_however_often_it_is_written(tmp_path: Path) -> None:
    for step in range(5):
        write_progress(tmp_path / "report", {"step": step, "total": 10})

    assert (tmp_path / "report").read_text(encoding="utf-8") == '{"step": 4, "total": 10}\n'
    with room_for(3):
        write_progress(tmp_path / "report", {"step": 5, "total": 10})
    assert (tmp_path / "report").read_text(encoding="utf-8") == '{"step": 4, "total": 10}\n'
