"""`tenuto metrics`: a table with curves of characters."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Any

import pytest
from tests.cli.live.site import TOKEN, Served, Site, as_json, ok, tenuto

from tenuto.cli import metrics
from tenuto.cli.metrics_time import HOLE, Axis, Line
from tenuto.cli.sparkline import WIDTH, sparkline
from tenuto.client.plain import PlainClient
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase
from tenuto.model.series import CLUSTER, NODE, Points, Subject
from tenuto.store.series.base import SeriesStore
from tenuto.wire.sample import Gap


def tells(site: Site, rank: int, steps: int, **fields: Any) -> None:
    """A worker of k1 has told so many steps."""
    worker = f"k1.1.worker.{rank}"
    usual = {"kind": "step", "at": 1.0, "generation": 1, "rank": rank, "world": 2, "seconds": 0.5}
    if rank == 0:
        usual["samples_per_second"] = 128.0
    with PlainClient(site.url, TOKEN) as client:
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


def now_and_then(site: Site, steps: int = 5) -> float:
    """Two workers of k1 have told a step every ten seconds, until now; returns when the first was told."""
    begin = time.time() - 10.0 * steps
    for rank in (0, 1):
        rate = {"samples_per_second": 128.0} if rank == 0 else {}
        records = [
            {
                "seq": seq,
                "kind": "step",
                "generation": 1,
                "rank": rank,
                "world": 2,
                "seconds": 0.5,
                "at": begin + 10 * seq,
                "step": 10 * seq,
                "samples": 640 * seq,
                **rate,
                "values": {"потеря": 1 / (seq + 1), "acc": seq},
            }
            for seq in range(steps)
        ]
        with PlainClient(site.url, TOKEN) as client:
            client.add_metrics("k1", {"worker": f"k1.1.worker.{rank}", "first": 0, "records": records})
    return begin


def lines_of(*arguments: str) -> dict[tuple[str, str], str]:
    """The courses of a table by its first two columns."""
    lines = [re.split(r"  +", line) for line in ok(*arguments).splitlines()[1:]]
    return {(cells[0], cells[1]): cells[-1] for cells in lines}


class TestOverTime:
    """Everything on one axis."""

    def test_a_job_has_its_rate_its_values_its_workers_and_their_step_times(self, site: Site) -> None:
        site.add_job("k1", "学习", started_at=time.time() - 60, phase=Phase.RUNNING)
        now_and_then(site)

        header = ok("metrics", "学习").splitlines()[0]
        lines = lines_of("metrics", "学习")

        assert "a character" in header
        assert list(lines) == [
            ("samples/s", "job"),
            ("потеря", "job"),
            ("acc", "job"),
            ("seconds a step", "1.worker.0"),
            ("seconds a step", "1.worker.1"),
            ("workers", "job"),
        ]
        assert len({len(line) for line in lines.values()}) == 1, "one axis"
        assert lines["потеря", "job"].strip(HOLE)[0] == "█"
        assert list(lines_of("metrics", "学习", "--names", "acc"))[1:2] == [("acc", "job")]

    def test_the_gpus_of_a_job_are_told_for_the_time_in_which_it_held_them(
        self, site: Site, one_server: Served
    ) -> None:
        begun = time.time() - 100
        site.add_job("k1", started_at=begun, phase=Phase.RUNNING)
        devices = tuple(Slot(device=str(index), kind="GPU") for index in range(2))
        site.store.write(lambda tx: tx.put_node(a_node("узел", devices)))
        site.add_attempt("k1", node="узел", slot=1, started_at=begun + 50)
        at = [begun + second for second in range(100)]
        for gpu in (0, 1):
            values: dict[str, list[float | None]] = {
                "utilisation": [90.0] * 100,
                "memory_used": [2.0**30] * 100,
            }
            add(one_server, Points(subject=Subject(NODE, "узел", f"gpu:{gpu}"), at=at, values=values))

        lines = lines_of("metrics", "k1")

        assert [what.split()[0] for what, _ in lines] == ["utilisation", "memory"], "of one GPU"
        course, _ = lines.values()
        assert course.startswith(HOLE * 10)
        assert course.rstrip(HOLE).lstrip(HOLE)

    def test_a_node_has_its_gpus_and_what_is_missing_is_said(self, site: Site, one_server: Served) -> None:
        site.add_node("узел")
        now = time.time()
        at = [now - 600 + second for second in range(600)]
        known = [second for second in range(600) if not 200 <= second < 300]
        points = Points(
            subject=Subject(NODE, "узел", "gpu:0"),
            at=[at[second] for second in known],
            values={"utilisation": [50.0] * 500, "power": [None] * 500},
        )
        add(one_server, points)
        gap = Gap(since=now - 400, until=now - 300, why="the sampler was killed")
        series_of(one_server).add_gaps("узел", [gap])

        result = tenuto("metrics", "--node", "узел", "--since", "10m")

        (line,) = result.stdout.splitlines()[1:]
        assert line.split()[:2] == ["utilisation", "gpu:0"]
        assert HOLE * 3 in line.split()[-1].strip(HOLE)
        assert "the sampler was killed" in result.stderr
        told = as_json("metrics", "--node", "узел", "--since", "10m")["time"]
        assert told["gaps"][0]["why"] == "the sampler was killed"

    def test_the_cluster_has_all_it_counts(self, site: Site, one_server: Served) -> None:
        add(one_server, Points(subject=Subject(CLUSTER), at=[time.time() - 1], values={"slots": [8.0]}))

        assert list(lines_of("metrics", "--cluster")) == [("slots", "cluster")]

    def test_the_last_value_is_no_mean_of_a_long_time(self, site: Site, one_server: Served) -> None:
        moments = [time.time() - 10 * back for back in range(20, 0, -1)]
        slots = [*[3.0] * 19, 16.0]
        add(one_server, Points(subject=Subject(CLUSTER), at=moments, values={"slots": slots}))

        told = [re.split(r"  +", line) for line in ok("metrics", "--cluster", "--since", "30d").splitlines()]

        assert told[1][3:5] == ["16", "16"]

    def test_json_has_both_axes(self, site: Site) -> None:
        site.add_job("k1", started_at=time.time() - 60, phase=Phase.RUNNING)
        begin = now_and_then(site)

        told = as_json("metrics", "k1")

        assert [point["step"] for point in told["series"][0]["points"]] == [0, 10, 20, 30, 40]
        parts = {item["part"]: item for item in told["time"]["items"]}
        assert {"", "values", "worker:1.worker.0", "worker:1.worker.1"} <= set(parts)
        assert parts[""]["at"][0] == pytest.approx(begin, abs=5.0)

    def test_an_ended_job_has_the_time_in_which_it_ran(self, site: Site) -> None:
        begin = time.time() - 50
        site.add_job("k1", started_at=begin, ended_at=begin + 25, phase=Phase.SUCCEEDED)
        now_and_then(site)

        told = as_json("metrics", "k1")["time"]

        until = datetime.fromisoformat(told["until"]).timestamp()
        assert until == pytest.approx(begin + 27, abs=1.0)

    def test_whoever_watches_sees_it_until_the_job_has_ended(
        self, site: Site, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        site.add_job("k1", started_at=time.time() - 60, phase=Phase.RUNNING)
        now_and_then(site)
        looks: list[float] = []

        def pause(seconds: float) -> None:
            looks.append(seconds)
            site.change("k1", phase=Phase.SUCCEEDED, ended_at=time.time())

        monkeypatch.setattr(metrics, "pause", pause)

        assert "samples/s" in ok("metrics", "k1", "--watch")
        assert looks == [2.0]

    @pytest.mark.parametrize(
        "arguments",
        [
            (),
            ("k1", "--node", "a"),
            ("--node", "a", "--cluster"),
            ("--cluster", "--every", "3"),
            ("--cluster", "--names", "loss"),
            ("k1", "--since", "1h", "--worker", "x"),
            ("k1", "--watch", "--json"),
            ("k1", "export", "--out", "x"),
            ("--since", "1h", "export", "k1", "--out", "x"),
        ],
    )
    def test_what_does_not_fit_together_is_refused(self, site: Site, arguments: tuple[str, ...]) -> None:
        site.add_job("k1")

        assert tenuto("metrics", *arguments).exit_code == 2


def add(server: Served, points: Points) -> None:
    series_of(server).add([points])


def series_of(server: Served) -> SeriesStore:
    series: SeriesStore = server.app.state.platform.files.series
    return series


def a_node(name: str, slots: tuple[Slot, ...]) -> Node:
    return Node(name=name, number=0, revision=0, state=NodeState.ONLINE, slots=slots)


@pytest.mark.parametrize(
    ("known", "course"),
    [
        ({}, "····"),
        ({0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}, "1234"),
        ({0: 1.0, 2: 2.0}, "1122"),
        ({0: 1.0, 1: 2.0, 2: 3.0, 7: 4.0, 8: 5.0}, "123····455"),
    ],
)
def test_a_value_lasts_until_the_next_unless_that_is_missing(known: dict[int, float], course: str) -> None:
    axis = Axis(100.0, 10.0, len(course))
    line = Line("x", "y", "", [100.0 + 10 * part for part in known], list(known.values()))

    assert drawn(axis, line) == course


def test_a_pause_is_told_where_it_was_and_does_not_last() -> None:
    line = Line("pause", "rescales", "", [100.0, 130.0], [1.0, 2.0], lasts=False)

    assert drawn(Axis(100.0, 10.0, 6), line) == "1··2··"


def drawn(axis: Axis, line: Line) -> str:
    return "".join(HOLE if value is None else f"{value:.0f}" for value in axis.course(line))
