"""A real server whose worker floods it with output stays within its quotas while the worker runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.platform import Platform, eventually

KIB = 1 << 10
LOG_QUOTA_BYTES = 64 * KIB
EVENT_QUOTA = 20
FLOOD = f"import time\nfor i in range(600): print(i, 'x' * {KIB}, flush=True)\ntime.sleep(600)"


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path, "--nodes", "1", "--slots", "1")
    made.settings = {
        "TENUTO_RETENTION_PERIOD": "0.2",
        "TENUTO_RETENTION_LOG_BYTES": str(LOG_QUOTA_BYTES),
        "TENUTO_RETENTION_EVENTS": str(EVENT_QUOTA),
        "TENUTO_LOGS_KEEP_BYTES": str(256 * KIB),
    }
    made.up()
    yield made
    made.end()


def test_a_flood_of_output_is_cut_while_the_newest_lines_stay(platform: Platform) -> None:
    with platform.client(patience=5.0) as client:
        client.submit({"name": "flood", "run": ["python", "-c", FLOOD]})

        def cut() -> dict[str, Any] | None:
            parts = client.logs("flood", tail=1)["parts"]
            whole = parts and parts[0]["text"].startswith("599 ")
            kept = parts[0]["next"] - parts[0]["first"] if parts else 0
            return parts[0] if whole and kept <= LOG_QUOTA_BYTES else None

        part = eventually(cut, "the log is cut to its quota")
        assert part["first"] > 0
        assert not part["ended"]

        for _ in range(2 * EVENT_QUOTA):
            client.submit({"name": "more", "run": ["true"]})

        def told() -> bool:
            rounds = client.events(kind="retention", last=True)["items"]
            return any(event["data"]["events"] for event in rounds)

        eventually(told, "old events are removed")
        page = client.events(after=0, limit=5)
        assert page["gap"]
        assert page["items"][0]["id"] > 1
    assert platform.job("flood")["state"] == "running"
