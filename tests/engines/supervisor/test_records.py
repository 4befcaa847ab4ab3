"""What a supervisor finds on its disk, whoever or whatever has been there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.engines.builders import an_id, an_order

from tenuto.engines.supervisor.records import Records
from tenuto.engines.supervisor.worker import adopt
from tenuto.engines.supervisor.worker_files import Progress, WorkerFiles
from tenuto.wire.worker import ExitReason


def reporting(directory: Path, text: bytes) -> WorkerFiles:
    (directory / "report").write_bytes(text)
    return WorkerFiles(directory)


def test_the_last_whole_line_that_can_be_read_is_the_report(tmp_path: Path) -> None:
    files = reporting(tmp_path, b'{"step": 1}\n{"step": 12, "loss": 0.5, "big": true}\nno json\n{"step": 13')

    assert files.report() == Progress(12.0, {"loss": 0.5})


@pytest.mark.parametrize(
    "line", [b"[" * 60_000, b'{"step": ' + b"9" * 5000 + b"}", b"\xff\xfe", b"[1]", b"null"]
)
def test_no_line_of_a_report_can_end_the_supervisor(tmp_path: Path, line: bytes) -> None:
    assert reporting(tmp_path, b'{"step": 3}\n' + line + b"\n").report() == Progress(3.0, {})
    assert reporting(tmp_path, line + b"\n").report() is None


def test_a_report_that_is_no_file_is_no_report(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    assert WorkerFiles(tmp_path).report() is None

    (tmp_path / "report").rmdir()
    os.mkfifo(tmp_path / "report")
    assert WorkerFiles(tmp_path).report() is None


def test_a_record_that_a_loss_of_power_left_empty_is_a_worker_that_vanished(tmp_path: Path) -> None:
    records = Records(tmp_path)
    files = records.add(an_order(an_id("작업")))
    order = files.directory / "order.json"
    order.write_text(json.dumps({**json.loads(order.read_bytes()), "boot": "an earlier one"}))
    for name in ("shim.json", "stop.json"):
        (files.directory / name).write_bytes(b"")

    worker = adopt(records, files)

    assert worker is not None
    assert worker.look_for_death()
    assert worker.end is not None
    assert worker.end.reason in (ExitReason.VANISHED, ExitReason.NOT_STARTED)
    records.close()
