"""What the overview is made of: the map, the figures, the charts, the lines of events. No browser."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tenuto.dashboard.attention import concerns
from tenuto.dashboard.charts import colour_of
from tenuto.dashboard.cluster_charts import efficiency_chart, jobs_chart
from tenuto.dashboard.event_lines import event_lines, jobs_in
from tenuto.dashboard.names import JobNames
from tenuto.dashboard.over_time import BY_LABEL, SPANS, beginning, broken_at_gaps
from tenuto.dashboard.overview_text import attention, legend, policy, promises, queue, slots
from tenuto.dashboard.slot_map import SlotUse, largest, picture, use_of
from tenuto.errors import NotFound
from tenuto.wire.overview import (
    JobRow,
    MapJobOut,
    MapOut,
    OverviewOut,
    QueueOut,
    Rows,
    StandingOut,
)
from tenuto.wire.replies import ClusterOut, ControllerOut, EventOut, JobOut, SlotsOut
from tenuto.wire.series import ColumnsOut, NumbersOut

NOW = 1_800_000_000.0
AT = "2027-01-15T08:00:00.000Z"
EVIL = "<script>alert(1)</script>"


def a_map(**fields: Any) -> MapOut:
    known: dict[str, Any] = {
        "nodes": ["desk", "선반", "away"],
        "states": ["online", "draining", "offline"],
        "slots": [[0, 0, -1], [1, -1], [-1, -1]],
        "jobs": [
            MapJobOut(id="k1", name="훈련", state="running", promise="holds"),
            MapJobOut(id="k2", name="late", state="running", promise="at_risk"),
        ],
    }
    return MapOut(**(known | fields))


def test_slots_of_nodes_that_are_away_or_drained_are_not_free() -> None:
    use = use_of(a_map())

    assert use == SlotUse(used=3, free=1, unusable=3)
    assert use.total == 7
    assert "3 of 4" in slots(use, 3) and "3 not usable" in slots(use, 3) and "3 nodes" in slots(use, 3)
    assert "not usable" not in slots(SlotUse(1, 0, 0), 1)


def test_one_slot_on_one_node_is_a_map_too() -> None:
    told = a_map(nodes=["one"], states=["online"], slots=[[-1]], jobs=[])
    assert use_of(told) == SlotUse(used=0, free=1, unusable=0)
    assert picture(told)["slots"] == [[-1]] and largest(told, 10) == []


def test_a_map_gives_every_job_its_colour_and_says_whose_promise_is_in_danger() -> None:
    shown = picture(a_map())

    assert shown["jobs"] == [
        ["k1", "훈련", "running", colour_of("k1")],
        ["k2", "late", "running, promise at risk", colour_of("k2")],
    ]
    assert [(one.name, one.slots, one.path) for one in largest(a_map(), 1)] == [("훈련", 2, "/jobs/k1")]
    assert 'href="/jobs/k1"' in legend(largest(a_map(), 9))


def an_overview(**fields: Any) -> OverviewOut:
    cluster = ClusterOut(
        version="1",
        now=AT,
        slots=SlotsOut(total=8, usable=8, used=0),
        nodes={"online": 2},
        wait_nodes=0,
        jobs={"running": 3},
        policy="elasticflow",
        controller=ControllerOut(state="deciding", at=AT, term=1),
        draining=False,
        revision=1,
    )
    known: dict[str, Any] = {
        "cluster": cluster,
        "promises": StandingOut(holds=4, at_risk=1, kept=9, broken=2),
        "queue": QueueOut(waiting=5, next_start=AT, empty_at="2027-01-15T09:00:00.000Z"),
        "nodes": [],
        "gpus": [],
        "jobs": [],
        "of": Rows(nodes=2, gpus=0, jobs=0),
    }
    return OverviewOut(**(known | fields))


def test_figures_of_promises_the_queue_and_the_policy() -> None:
    told = an_overview()

    assert "4 " in promises(told) and '<span class="t-bad">2</span>' in promises(told)
    assert f'next start <time datetime="{AT}"' in queue(told) and "T09:00" in queue(told)
    assert "elasticflow" in policy(told) and "t-good" in policy(told)


def test_a_queue_says_if_its_end_is_not_known_and_an_empty_one_leads_to_the_form() -> None:
    assert "cannot be foreseen" in queue(an_overview(queue=QueueOut(waiting=2)))
    assert "nobody knows when" in queue(an_overview(queue=QueueOut(waiting=2, next_start=AT)))
    assert 'href="/submit"' in queue(an_overview(queue=QueueOut(waiting=0)))


def a_row(id_: str, **fields: Any) -> JobRow:
    known: dict[str, Any] = dict.fromkeys(JobRow.model_fields)
    known |= {"id": id_, "name": id_, "owner": "o", "state": "running", "wish": "", "workers": 1}
    known |= {"min_workers": 1, "max_workers": 1, "speed": 0.0, "unit": "steps", "promise": "none"}
    known |= {"submitted_at": AT, "elapsed": 0.0, "nodes": []}
    return JobRow(**(known | fields))


def test_concerns_say_why_and_leave_out_who_is_fine_or_failed_long_ago() -> None:
    rows = [
        a_row("broken", promise="broken", promised=AT),
        a_row("risk", promise="at_risk", promised=AT, eta="2027-01-15T10:00:00.000Z"),
        a_row("idle", idle_since=AT),
        a_row("big", state="unschedulable"),
        a_row("fine"),
    ]
    failed = [
        JobOut.model_construct(id="new", name="new", state="failed", ended_at="2027-01-15T07:00:00.000Z"),
        JobOut.model_construct(id="old", name="old", state="failed", ended_at="2027-01-01T07:00:00.000Z"),
    ]

    found = concerns(rows, failed, since="2027-01-14T08:00:00.000Z")

    assert [one.id for one in found] == ["broken", "risk", "idle", "big", "new"]
    assert [one.tone for one in found] == ["bad", "warn", "warn", "warn", "bad"]
    assert "T10:00" in found[1].why
    assert 'href="/jobs/risk"' in attention(found, jobs=6)
    assert "Nothing:" in attention([], jobs=6) and 'href="/submit"' in attention([], jobs=0)


def an_event(id_: int, **fields: Any) -> EventOut:
    known: dict[str, Any] = {"kind": "phase", "at": AT, "actor": "controller", "job": "", "node": ""}
    known |= {"before": "", "after": "", "reason": "", "data": {}}
    return EventOut(id=id_, **(known | fields))


def test_events_are_lines_with_links_the_newest_first_and_nothing_in_them_is_code() -> None:
    events = [
        an_event(1, job="k1", before="starting", after="running", reason=EVIL),
        an_event(2, kind="node", node="desk", after="online", actor="node:desk"),
    ]
    assert jobs_in(events) == {"k1"}

    lines = event_lines(events, {"k1": EVIL}, about="desk")

    assert lines.index("Is online") < lines.index("is running")
    assert EVIL not in lines and "&lt;script&gt;" in lines
    assert 'href="/jobs/k1"' in lines
    assert 'href="/nodes/desk"' not in lines, "it is what the page is about, and it said so itself"


def test_names_are_asked_for_once_and_a_job_that_is_gone_has_its_id() -> None:
    asked: list[str] = []

    class Server:
        async def job(self, job: str) -> JobOut:
            asked.append(job)
            if job == "gone":
                raise NotFound("there is no job gone", code="not_found", remedy="")
            return JobOut.model_construct(id=job, name=f"name of {job}")

    async def ask() -> None:
        names = JobNames()
        names.learn({"k1": "훈련"})
        for _ in range(2):
            known = await names.of(Server(), ["k1", "k2", "gone"])
            assert [known[one] for one in ("k1", "k2", "gone")] == ["훈련", "name of k2", "gone"]

    # In a thread of its own: where a browser is open, this one has a loop that runs.
    with ThreadPoolExecutor() as pool:
        pool.submit(asyncio.run, ask()).result()
    assert sorted(asked) == ["gone", "k2"]


def test_a_line_breaks_where_nothing_was_measured() -> None:
    assert broken_at_gaps([0, 10, 40], [1, 2, 3], step=10) == [(0, 1), (10, 2), (20, None), (40, 3)]
    assert broken_at_gaps([], [], step=10) == []


def test_a_chart_of_a_young_platform_begins_with_what_there_is() -> None:
    assert beginning([9_700.0], since=6_400.0, until=10_000.0) == 9_700.0
    assert beginning([9_990.0], since=6_400.0, until=10_000.0) == 9_940.0, "a minute at least"
    assert beginning([1_000.0], since=6_400.0, until=10_000.0) == 6_400.0
    assert beginning([], since=9_990.0, until=10_000.0) == 9_990.0
    assert all(span.seconds / span.step <= 340 for span in SPANS)


def test_charts_of_the_cluster_show_percent_and_counts() -> None:
    at = [NOW - 30, NOW - 20, NOW - 10]
    values: dict[str, list[float | None]] = {
        "slots": [8, 0, 8], "slots_used": [4, 0, 8], "efficiency": [0.25, None, 0.9],
        "running": [1, 1, 2], "queue": [0, 3, 0],
    }  # fmt: skip
    told = numbers(
        ColumnsOut(
            kind="cluster",
            name="",
            part="",
            step=10,
            means_until=None,
            at=at,
            values=values,
            units={},
            next=None,
        )
    )
    span = BY_LABEL["10 min"]

    use, efficiency = efficiency_chart(told, span, NOW)["series"]
    running, waiting = jobs_chart(told, span, NOW)["series"]

    assert [value for _, value in use["data"]] == [50, None, 100]
    assert [value for _, value in efficiency["data"]] == [25, None, 90]
    assert [value for _, value in running["data"]] == [1, 1, 2]
    assert [value for _, value in waiting["data"]] == [0, 3, 0]
    assert efficiency_chart(numbers(), span, NOW)["series"][0]["data"] == []


def numbers(*items: ColumnsOut) -> NumbersOut:
    return NumbersOut(since=AT, until=AT, items=list(items), gaps=[], next=None)
