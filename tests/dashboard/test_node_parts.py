"""What the pages of nodes are made of: rows, charts over time, words about GPUs. No browser."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.dashboard.node_charts import (
    GPU_CHARTS,
    NODE_CHARTS,
    Chart,
    additions,
    gaps_between,
    last_moment,
    options,
    query_of,
)
from tenuto.dashboard.node_rows import COLUMNS, order_of, row_of
from tenuto.dashboard.node_text import about, cores, gap_lines, gpu_rows, gpu_trouble, jobs_on, slots
from tenuto.dashboard.over_time import BY_LABEL
from tenuto.dashboard.wording import NONE
from tenuto.server.overview_rows import NODE_ORDERS
from tenuto.wire.overview import NodeRow
from tenuto.wire.replies import CpuPlacesOut, NodeOut, OccupiedOut, SlotOut, UsageOut
from tenuto.wire.sample import DiskSample, GpuProcess, GpuSample, NodeSample
from tenuto.wire.series import ColumnsOut, GapOut, NumbersOut

NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00.000Z"
EVIL = "<img src=x>"
GB = 1_000_000_000
SPAN = BY_LABEL["10 min"]
OCCUPIED = OccupiedOut(cpu=0, cpu_total=0, gpu=0, gpu_total=0)


def columns(part: str, **values: list[float | None]) -> ColumnsOut:
    count = len(next(iter(values.values())))
    at = [NOW - 2.0 * (count - index) for index in range(count)]
    return ColumnsOut(
        kind="node",
        name="desk",
        part=part,
        step=2,
        means_until=None,
        at=at,
        values=values,
        units={},
        next=None,
    )


def numbers(*items: ColumnsOut, gaps: tuple[GapOut, ...] = ()) -> NumbersOut:
    return NumbersOut(since=AT, until=AT, items=list(items), gaps=list(gaps), next=None)


def chart(key: str) -> Chart:
    return next(one for one in (*GPU_CHARTS, *NODE_CHARTS) if one.key == key)


def test_any_number_of_gpus_has_a_line_each_in_the_order_of_their_numbers() -> None:
    told = numbers(*(columns(f"gpu:{index}", utilisation=[float(index)]) for index in (10, 2, 0)))

    lines = options(chart("use"), told, SPAN, NOW)["series"]

    assert [line["name"] for line in lines] == ["GPU 0", "GPU 2", "GPU 10"]
    assert [line["data"][0][1] for line in lines] == [0, 2, 10]


def test_a_lost_gpu_and_a_time_without_samples_leave_holes() -> None:
    gap = GapOut(node="desk", since=NOW - 500, until=NOW - 400, why="the sampler was killed")
    told = numbers(columns("gpu:0", power=[100.0, None, 120.0]), gaps=(gap,))

    drawn = options(chart("power"), told, SPAN, NOW)

    assert [value for _, value in drawn["series"][0]["data"]] == [100, None, 120]
    ((begin, end),) = drawn["series"][0]["markArea"]["data"]
    assert (begin["name"], end["xAxis"] - begin["xAxis"]) == ("the sampler was killed", 100_000)
    assert gaps_between([gap], NOW - 600, NOW) == [gap] and gaps_between([gap], NOW - 300, NOW) == []
    assert "the sampler was killed" in gap_lines([gap]) and gap_lines([]) == ""
    assert "and 2 more" in gap_lines([gap] * 7)


def test_interfaces_and_disks_are_added_up() -> None:
    told = numbers(
        columns("net:eth0", received=[1.0, 2.0], sent=[None, 1.0]),
        columns("net:ib0", received=[10.0, None], sent=[None, None]),
        columns("disk:/", read=[5.0, 6.0], written=[0.0, 0.0]),
    )

    added = additions(chart("net"), told, SPAN)

    assert [value for _, value in added["received"]] == [11, 2]
    assert [value for _, value in added["sent"]] == [None, 1]
    assert [value for _, value in additions(chart("disk"), told, SPAN)["read"]] == [5, 6]


def test_a_node_that_was_never_sampled_has_empty_charts() -> None:
    for one in (*GPU_CHARTS, *NODE_CHARTS):
        assert all(line["data"] == [] for line in options(one, numbers(), SPAN, NOW)["series"])
    assert last_moment(numbers()) is None
    assert last_moment(numbers(columns("", cpu=[1.0]))) == NOW - 2


def test_later_only_what_is_new_is_asked_for() -> None:
    assert query_of("desk", SPAN)["since"] == "600s"
    assert query_of("desk", SPAN, NOW)["since"] == "1800000000.000"


def a_node_row(usage: UsageOut | None = None, **fields: Any) -> NodeRow:
    known: dict[str, Any] = {
        "name": "책상 1",
        "state": "online",
        "used": 1,
        "total": 2,
        "kinds": [],
        "jobs": 1,
    }
    return NodeRow(**(known | fields), occupied=OCCUPIED, usage=usage)


def usage(**fields: Any) -> UsageOut:
    known: dict[str, Any] = dict.fromkeys(UsageOut.model_fields)
    return UsageOut(**(known | {"at": AT, "age": 1.0, "gpus_lost": 0} | fields))


def test_a_row_tells_what_a_node_is_doing() -> None:
    used = usage(
        cpu=42.4, ram_free=GB, ram_total=4 * GB, received=1500.0, gpu=99.9, vram_free=GB, vram_total=2 * GB
    )

    row = row_of(a_node_row(used))

    assert (row["path"], row["slots"], row["tone"]) == ("/nodes/%EC%B1%85%EC%83%81%201", "1 of 2", "t-good")
    assert (row["cpu"], row["ram"], row["received"]) == ("42 %", "3.0 GB of 4.0 GB", "1.5 KB/s")
    assert (row["gpu"], row["vram"], row["sent"]) == ("100 %", "1.0 GB of 2.0 GB", NONE)


@pytest.mark.parametrize("told", [None, usage(age=1000.0, cpu=50.0)])
def test_a_node_that_tells_nothing_has_no_data(told: UsageOut | None) -> None:
    row = row_of(a_node_row(told, state="offline"))
    assert (row["cpu"], row["gpu"], row["tone"]) == ("No data", NONE, "t-bad")


def test_trouble_with_gpus_stands_beside_the_name() -> None:
    assert row_of(a_node_row(usage(gpus_lost=2)))["trouble"] == "2 GPUs are lost"
    assert row_of(a_node_row(usage(gpu_problem="the driver hangs")))["trouble"] == "the driver hangs"


def test_every_column_that_can_be_sorted_is_an_order_of_the_server() -> None:
    sortable = {column["name"] for column in COLUMNS if column["sortable"]}
    assert sortable <= set(NODE_ORDERS)
    assert [order_of("name", descending) for descending in (False, True)] == ["name", "-name"]
    assert [order_of("cpu", descending) for descending in (False, True)] == ["-cpu", "cpu"]
    assert order_of(None, descending=False) == "number"


def a_sample(*gpus: GpuSample, **fields: Any) -> NodeSample:
    return NodeSample(at=NOW, gpus=gpus, **fields)


def test_gpus_tell_their_limits_and_whose_processes_are_on_them() -> None:
    mine = GpuProcess(pid=7, name="python", user="민준", memory=GB, job="k1")
    stranger = GpuProcess(pid=8, name=EVIL)
    sample = a_sample(
        GpuSample(index=0, name="A100", utilisation=50.0, memory_used=GB, memory_total=2 * GB, power=99.6,
                  power_limit=300.0, temperature=61.0, fan=30.0, processes=(mine, stranger)),
        GpuSample(index=1, lost=True),
    )  # fmt: skip
    assert jobs_on(sample) == {"k1"}

    first, second = gpu_rows(sample, {"k1": "훈련"})

    assert (first["power"], first["temperature"], first["fan"]) == ("100 W of 300 W", "61 °C", "30 %")
    assert 'href="/jobs/k1">훈련</a> 민준 python pid 7 1.0 GB' in first["who"]
    assert EVIL not in first["who"]
    assert (second["lost"], second["use"], second["who"]) == (True, NONE, NONE)
    assert gpu_trouble(sample) == "GPU 1 is lost: the driver does not find it any more."
    two = a_sample(GpuSample(index=1, lost=True), GpuSample(index=3, lost=True))
    assert "GPUs 1, 3 are lost" in gpu_trouble(two)
    assert gpu_trouble(a_sample(gpu_problem="no driver")) == "no driver"


def test_cores_are_bars_and_disks_say_how_full_they_are() -> None:
    shown = cores(
        a_sample(cores=(12.0, None), cpu=12.0, disks=(DiskSample(path="/", used=GB, total=2 * GB),))
    )

    assert 'title="core 0: 12 %"><b style="height:12%"' in shown and f'title="core 1: {NONE}"' in shown
    assert "disk / 1.0 GB of 2.0 GB" in shown


def a_node(**fields: Any) -> NodeOut:
    known: dict[str, Any] = {
        "name": "desk", "number": 1, "state": "online", "address": EVIL, "total": 2, "used": 1,
        "slots": [SlotOut(index=0, device="0", kind="A100", job="k1", guests=["k2"]),
                  SlotOut(index=1, device="", kind="cpu", job=None)],
        "cpu": CpuPlacesOut(total=2, used=1, jobs=["k3"]), "jobs": ["k1", "k2", "k3"],
        "joined_at": AT, "heard_at": AT, "labels": {"rack": "7"}, "occupied": OCCUPIED,
    }  # fmt: skip
    return NodeOut(**(known | fields))


def test_slots_name_who_holds_them_and_who_shares() -> None:
    shown = slots(a_node(), {"k1": "훈련", "k2": "gość", "k3": "lone"})

    assert shown.index("훈련") < shown.index("gość") < shown.index("free") < shown.index("lone")
    assert "A100 0" in shown and "CPU share" in shown and "1 of 2 places" in shown
    assert "draining" in slots(a_node(state="draining"), {})


def test_a_node_says_where_it_is_and_an_offline_one_when_it_was_last_heard_of() -> None:
    shown = about(a_node())
    assert "rack=7" in shown and EVIL not in shown and "last heard of" not in shown
    assert "last heard of" in about(a_node(state="offline"))
