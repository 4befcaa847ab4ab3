"""`tenuto metrics`: a table with curves of characters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.live.site import TOKEN, Site, as_json, ok, tenuto

from tenuto.cli.metrics import WIDTH, sparkline
from tenuto.client import Client


def tells(site: Site, rank: int, steps: int, **fields: Any) -> None:
    """A worker of k1 has told so many steps."""
    worker = f"k1.1.worker.{rank}"
    usual = {"kind": "step", "at": 1.0, "generation": 1, "rank": rank, "world": 2, "seconds": 0.5}
    if rank == 0:
        usual["samples_per_second"] = 128.0
    with Client(site.url, TOKEN) as client:
        for first in range(0, steps, 500):
            numbers = range(first, min(first + 500, steps))
            records = [
                {**usual, "seq": seq, "step": 10 * seq, "values": {"loss": 1 / (seq + 1)}, **fields}
                for seq in numbers
            ]
            client.add_metrics("k1", {"worker": worker, "first": first, "records": records})


def test_every_worker_and_value_has_a_line_with_its_course(site: Site) -> None:
    site.add_job("k1", "学习")
    for rank in (0, 1):
        site.add_attempt("k1", rank)
        tells(site, rank, 8)

    header, *lines = ok("metrics", "学习").splitlines()

    assert header.split() == ["worker", "node", "what", "points", "least", "last", "most", "curve"]
    assert [line.split()[:3] for line in lines] == [
        ["job", "all", "samples/s"],
        ["node-0", "samples/s", "8"],
        ["1.worker.0", "node-0", "seconds"],
        ["1.worker.0", "node-0", "loss"],
        ["1.worker.1", "node-0", "seconds"],
        ["1.worker.1", "node-0", "loss"],
    ]
    assert lines[3].split()[3:] == ["8", "0.125", "0.125", "1", "█▄▃▂▂▁▁▁"]


def test_all_pages_are_put_together_as_json(site: Site) -> None:
    site.add_job("k1")
    tells(site, 0, 1200)

    told = as_json("metrics", "k1", "--every", "1")

    assert [point["step"] for point in told["series"][0]["points"]] == list(range(0, 12_000, 10))
    assert len(told["throughput"][0]["steps"]) == 1200
    assert told["next"] is None
    narrow = as_json("metrics", "k1", "--from-step", "11900", "--names", "x", "--worker", "k1.1.worker.0")
    assert len(narrow["series"][0]["points"]) == 10
    assert narrow["series"][0]["points"][0]["values"] == {}


def test_a_job_that_tells_nothing_is_no_error(site: Site) -> None:
    site.add_job("k1")

    result = tenuto("metrics", "k1")

    assert (result.exit_code, result.stdout) == (0, "")
    assert "has told a step" in result.stderr


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([None, None], ""),
        ([3.0], "▁"),
        ([1.0, 2.0, 3.0], "▁▅█"),
        ([1.0, None, float("nan"), 8.0], "▁  █"),
    ],
)
def test_a_course_is_drawn_in_one_line(values: list[float | None], line: str) -> None:
    assert sparkline(values) == line


def test_a_long_course_is_drawn_by_means() -> None:
    line = sparkline([float(value) for value in range(1000)])

    assert len(line) == WIDTH
    assert list(line) == sorted(line)
    assert (line[0], line[-1]) == ("▁", "█")
