"""A worker writes what it likes into the records of its LINK directory: nothing stops, and its good records arrive.

A real platform; the script needs no torch, since it only writes the file that the SDK would write.
"""

from __future__ import annotations

import sys
from pathlib import Path

import httpx
from tests.e2e.platform import HANG, Platform, eventually
from tests.server.serving import QUICK

SCRIPT = """
import json, os, pathlib, time

def record(seq, **fields):
    usual = {"seq": seq, "kind": "step", "at": time.time(), "generation": 1, "step": seq, "world": 1, "rank": 0}
    return json.dumps({**usual, "seconds": 0.1, "samples": 10.0 * seq, "values": {"loss": 1.0}} | fields)

def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value

huge, half = 10 ** 400, "\\ud800"
poison = [
    {"values": {"x": nested(197)}}, {"values": {"x": nested(250)}}, {"sentence": nested(250), "kind": "summary"},
    {"values": {"x": huge}}, {"seconds": huge}, {"step": huge}, {"generation": -1}, {"at": huge}, {"at": -9e10},
    {"values": {"x": half}}, {"values": {half: 1}}, {half: 1}, {"kind": half}, {"kind": "loss", "node": half},
    {"kind": "loss", "node": "a\\0b"}, {"kind": "checkpoint", "problem": half}, {"kind": "rescale", "why": half},
    {"kind": "rescale", "pause_ms": float("inf")}, {"kind": "rescale", "before": nested(250)},
    {"kind": "hung", "seconds": huge}, {"kind": "summary", "sentence": "x" * 200_000}, {"world": float("nan")},
    {"values": []}, {"values": {str(n): 1 for n in range(200)}}, {"samples": float("nan")}, {"rank": 0.5},
]
lines = []
for number, fields in enumerate(poison):
    lines += [record(2 * number), record(2 * number + 1, **fields)]
last = 2 * len(poison)
lines += ["7", "{}", "null", "\\\\ud800", "9" * 5000, record(last)]
lines += [record(last + 1, kind="checkpoint", why="at the end")]
part = pathlib.Path(os.environ["TENUTO_LINK"], "steps", "0" * 20)
part.parent.mkdir(exist_ok=True)
part.write_text("\\n".join(lines) + "\\n")
"""


def test_poisonous_records_of_a_worker_stop_nothing(tmp_path: Path) -> None:
    script = tmp_path / "poison.py"
    script.write_text(SCRIPT)
    platform = Platform(tmp_path / "platform", "--nodes", "1", "--slots", "2", "--start-cost", "0.1")
    try:
        platform.up()
        with platform.client(patience=HANG) as client:
            form = {"name": "poison", "run": [sys.executable, str(script)], "strategy": "allreduce"}
            job = client.submit(form)["id"]
            platform.wait_for(job, "succeeded")
            eventually(lambda: client.events(job=job, kind="checkpoint")["items"], "its last event is there")
        check_that_everything_answers(platform, job)
        platform.stop()

        platform.up()
        check_that_everything_answers(platform, job)
        with platform.client(patience=HANG) as client:
            platform.wait_for(client.submit({"name": "next", "run": "true"})["id"], "succeeded")
        platform.down()
    finally:
        platform.end()


def check_that_everything_answers(platform: Platform, job: str) -> None:
    with platform.client(patience=HANG) as client:
        points = client.metrics(job)["series"][0]["points"]
        assert {point["step"] for point in points} >= set(range(0, 52, 2))
        assert client.events()["items"]
        assert not client.events(kind="unreadable")["items"]
        assert client.history()["items"]
        assert eventually(lambda: client.numbers("job", name=job)["items"], "its numbers have a history")
    token = (platform.home / "token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}"}
    page = httpx.get(f"{platform.told['url']}/metrics", headers=headers, **QUICK)
    assert "tenuto_" in page.raise_for_status().text
    assert "incident" not in platform.cli("server", "log")
