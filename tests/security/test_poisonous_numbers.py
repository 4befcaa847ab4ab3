"""Numbers that are accepted, however large or small, stop neither the controller nor anything that is shown.

A real server and a real controller over one store, with a fake engine. NumPy's warnings are errors here: an overflow
in a round makes NaN, by which jobs cannot be compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.live.platform import Platform
from tests.server.serving import NOW, Served, a_form, a_server

from tenuto.model.curve import MAX_RATE, MIN_RATE
from tenuto.wire.record_rules import MAX_COUNT

RATES = (5e-324, 1e-300, MIN_RATE, 1.0, MAX_RATE, 1e16)
AMOUNTS = (5e-324, 1.0, 1e15, MAX_COUNT)
REPORTED = (-1e299, -1.0, 0.0, 5e-324, 1e15, 1e299)
LISTS = (
    *("/jobs", "/table/jobs", "/cluster", "/cluster/map", "/overview", "/timeline", "/report", "/curves"),
    *("/scaling", "/history", "/events", "/policy"),
)


class Story:
    """A server, the controller behind it, and what is drawn by one seed."""

    def __init__(self, served: Served, policy: str, seed: int) -> None:
        self.served = served
        self.platform = Platform({"node-0": 4}, store=served.store, start=NOW, policy=policy)
        self.random = Random(seed)

    def submit(self) -> None:
        draw = self.random.choice
        form: dict[str, Any] = {
            "curve": draw(
                [*({"1": draw(RATES), draw(["2", "4"]): draw(RATES)} for _ in range(8)), "auto", None]
            ),
            "total": draw([*({"steps": draw(AMOUNTS)} for _ in range(4)), {"epochs": draw(AMOUNTS)}, None]),
            "deadline": draw(["+1s", "+1h", "+9999d", None, None, None]),
            "workers": draw([1, 4, "1..4", "1..4096"]),
            "max_duration": draw([1e-9, 1e15, "1h", None, None, None]),
        }
        body = a_form(**{key: value for key, value in form.items() if value is not None})
        self.send("/jobs", body)

    def record(self, job: str) -> None:
        """Let a worker tell the same numbers in its records and its report."""
        draw = self.random.choice
        for worker in self.platform.engine.living(job):
            self.platform.engine.report(worker, draw(REPORTED), total=draw(REPORTED), epoch=draw(REPORTED))
            usual = {"at": self.platform.clock.now, "generation": worker.generation, "rank": worker.rank}
            steps = [1, 2, draw([10, MAX_COUNT])]
            records = [
                {
                    **usual,
                    "seq": seq,
                    "kind": draw(["step", "rescale"]),
                    "step": step,
                    "world": draw([1, 4, MAX_COUNT]),
                    "seconds": draw([5e-324, 1.0, 1e300]),
                    "samples": draw([1.0, 1e300]),
                    "samples_per_second": draw([5e-324, 1e308]),
                    "pause_ms": draw([5e-324, 1e300, -1]),
                    "values": {"x": draw([1e308, -(2**63)])},
                }
                for seq, step in enumerate(steps)
            ]
            self.send(f"/jobs/{job}/metrics", {"worker": str(worker), "records": records})

    def send(self, path: str, body: Any) -> None:
        answer = self.served.http.post(
            path, content=json.dumps(body), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in (200, 201, 422), answer.text

    def tick(self) -> None:
        self.platform.clock.now += 6.0  # reports are believed every five seconds
        self.served.clock.now = self.platform.clock.now
        for _ in range(3):
            self.platform.controller.tick()

    def read_everything(self) -> None:
        get = self.served.http.get
        ids = [job["id"] for job in self.served.get("/jobs")["items"]]
        paths = [f"/jobs/{id_}{part}" for id_ in ids for part in ("", "/explain", "/metrics", "/attempts")]
        for path in (*LISTS, *paths, f"{self.served.url}/metrics"):
            answer = get(path)
            assert answer.status_code == 200, (path, answer.text)

    def live(self) -> list[str]:
        return [job.id for job in self.served.store.read(lambda tx: tx.live_jobs())]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with a_server(tmp_path) as served:
        yield served


@pytest.mark.parametrize("policy", ["elasticflow", "edf", "fifo", "tiresias", "themis", "pollux"])
@pytest.mark.parametrize("seed", range(2))
def test_numbers_at_the_limits_stop_nothing(served: Served, policy: str, seed: int) -> None:
    story = Story(served, policy, seed)
    for _ in range(12):
        story.submit()
        story.tick()
    story.read_everything()
    for job in story.live():
        story.record(job)
    for _ in range(2):
        story.tick()
        story.read_everything()
