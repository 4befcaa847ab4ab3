"""Numbers over time: asked for by subject, range and resolution, page by page, and taken along as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pytest
from tests.server.serving import NOW, Served

from tenuto.model.series import CLUSTER, JOB, NODE, Points, Subject
from tenuto.monitor.columns import points_of
from tenuto.store.series.base import SeriesStore
from tenuto.wire.sample import Gap, GpuSample, NodeSample


def series_of(server: Served) -> SeriesStore:
    series: SeriesStore = server.app.state.platform.files.series
    return series


def add(server: Served, subject: Subject, at: list[float], **values: list[float | None]) -> None:
    series_of(server).add([Points(subject=subject, at=at, values=values)])


def gpus(server: Served, node: str, count: int, seconds: int = 60) -> None:
    """So many GPUs of a node were sampled every second of the last minute."""
    server.join(node)
    at = [NOW - seconds + second for second in range(seconds)]
    for index in range(count):
        busy: list[float | None] = [float(index + second % 2) for second in range(seconds)]
        add(server, Subject(NODE, node, f"gpu:{index}"), at, utilisation=busy, power=[None] * seconds)


def told(server: Served, **query: Any) -> Any:
    return server.get("/metrics", **query)


def refusal(server: Served, path: str = "/metrics", **query: Any) -> dict[str, Any]:
    return server.refused("GET", str(httpx.URL(path, params=query)))


def test_a_minute_of_a_node_is_there_with_units_and_nothing_for_what_is_unknown(server: Served) -> None:
    gpus(server, "węzeł", 2)

    answer = told(server, kind="node", name="węzeł", part="gpu:", since="1m", step="raw")

    first, second = answer["items"]
    assert (first["part"], second["part"]) == ("gpu:0", "gpu:1")
    assert len(first["at"]) == 60
    assert second["values"]["utilisation"][:3] == [1.0, 2.0, 1.0]
    assert second["values"]["power"] == [None] * 60
    assert second["units"] == {"utilisation": "percent", "power": "watts"}
    assert (first["step"], first["next"], answer["next"]) == (0.0, None, None)


def test_a_node_with_six_gpus_has_six_lines_in_each_of_three_charts(server: Served) -> None:
    server.join("a")
    gpus = tuple(
        GpuSample(index=index, utilisation=10.0 * index, power=100.0, memory_used=1 << 30)
        for index in range(6)
    )
    series_of(server).add(points_of("a", [NodeSample(at=NOW - second, gpus=gpus) for second in (2, 1)]))

    charts = "utilisation,power,memory_used"
    items = told(server, kind="node", name="a", part="gpu:", names=charts, step="raw")["items"]

    assert [set(item["values"]) for item in items] == [set(charts.split(","))] * 6
    assert [item["values"]["utilisation"] for item in items] == [[10.0 * index] * 2 for index in range(6)]
    assert all(len(item["at"]) == 2 for item in items)


def test_a_resolution_gives_means_and_auto_gives_no_more_points_than_wanted(server: Served) -> None:
    gpus(server, "a", 1)

    (tens,) = told(server, kind="node", name="a", part="gpu:0", since="1m", step="10s")["items"]
    (few,) = told(server, kind="node", name="a", part="gpu:0", since="1m", points=4)["items"]

    assert (len(tens["at"]), tens["step"], set(tens["values"]["utilisation"])) == (6, 10.0, {0.5})
    assert (few["step"], few["next"]) == (30.0, None)
    assert len(few["at"]) <= 4


def test_parts_are_named_exactly_by_their_beginning_or_all_at_once(server: Served) -> None:
    gpus(server, "a", 11)
    add(server, Subject(NODE, "a"), [NOW - 1], cpu=[7.0])
    add(server, Subject(NODE, "a", "net:eth0"), [NOW - 1], received=[1.0])

    def parts(*wanted: str) -> list[str]:
        items = told(server, kind="node", name="a", part=list(wanted), step="raw")["items"]
        return [one["part"] for one in items]

    assert parts() == [""]
    assert parts("gpu:1") == ["gpu:1"]
    assert len(parts("gpu:")) == 11
    assert parts("gpu:1", "net:") == ["gpu:1", "net:eth0"]
    assert len(parts("*")) == 13


def test_subjects_come_in_pages_over_all_nodes(server: Served) -> None:
    for node in ("a", "b", "узел"):
        gpus(server, node, 3, seconds=2)

    seen: list[tuple[str, str]] = []
    listed: list[tuple[str, str]] = []
    cursor: Any = ""
    while cursor is not None:
        page = told(server, kind="node", part="gpu:", limit=4, cursor=cursor, step="raw")
        seen += [(one["name"], one["part"]) for one in page["items"]]
        cursor = page["next"]
    cursor = ""
    while cursor is not None:
        names = server.get("/metrics/subjects", kind="node", limit=2, cursor=cursor)
        listed += [(one["name"], one["part"]) for one in names["items"]]
        cursor = names["next"]

    assert seen == listed == [(node, f"gpu:{i}") for node in ("a", "b", "узел") for i in range(3)]


def test_points_of_a_subject_are_paged_by_time(server: Served) -> None:
    gpus(server, "a", 1)
    at: list[float] = []
    since: Any = "1m"
    while since is not None:
        page = told(server, kind="node", name="a", part="gpu:0", since=since, step="raw", points=25)
        (item,) = page["items"]
        at += item["at"]
        since = item["next"]

    assert at == [NOW - 60 + second for second in range(60)]


def test_a_job_is_known_by_its_name_and_the_cluster_by_none(server: Served) -> None:
    id_ = server.submit("学习")["id"]
    add(server, Subject(JOB, id_, "values"), [NOW - 1], loss=[0.5], точность=[0.9])
    add(server, Subject(CLUSTER), [NOW - 1], slots=[8.0])

    (job,) = told(server, kind="job", name="学习", part="values", names="точность")["items"]
    (cluster,) = told(server, kind="cluster", step="raw")["items"]

    assert (job["name"], job["values"], job["units"]) == (id_, {"точность": [0.9]}, {"точность": ""})
    assert cluster["values"] == {"slots": [8.0]}


def test_gaps_of_nodes_are_told_with_their_reason(server: Served) -> None:
    gpus(server, "a", 1)
    series_of(server).add_gaps("a", [Gap(since=NOW - 30, until=NOW - 20, why="the sampler was killed")])

    answer = told(server, kind="node", name="a", part="gpu:0", since="1m")
    earlier = told(server, kind="node", name="a", part="gpu:0", since="1h", until="45s")

    assert answer["gaps"] == [
        {"node": "a", "since": NOW - 30, "until": NOW - 20, "why": "the sampler was killed"}
    ]
    assert earlier["gaps"] == []


def test_times_are_written_as_people_and_programs_do(server: Served) -> None:
    gpus(server, "a", 1)

    def count(since: str, until: str = "") -> int:
        items = told(server, kind="node", name="a", part="gpu:0", since=since, until=until, step="raw")[
            "items"
        ]
        return len(items[0]["at"])

    assert count("30s") == 30
    assert count(f"{NOW - 30}", f"{NOW - 20}") == 10
    assert count("2027-01-15T07:59:30Z", "2027-01-15T08:59:40+01:00") == 10


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({}, "kind"),
        ({"kind": "gpu"}, "kind"),
        ({"kind": "node", "since": "gestern"}, "since"),
        ({"kind": "node", "since": "1h", "until": "2h"}, "since"),
        ({"kind": "node", "step": "often"}, "step"),
        ({"kind": "node", "step": "-1"}, "step"),
        ({"kind": "node", "step": "1ms"}, "step"),
        ({"kind": "node", "points": 0}, "points"),
        ({"kind": "node", "cursor": "x"}, "cursor"),
        ({"kind": "cluster", "name": "x"}, "name"),
        ({"kind": "node", "resolution": "1m"}, "resolution"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place_and_a_remedy(
    server: Served, query: dict[str, Any], field: str
) -> None:
    error = refusal(server, **query)

    assert (error["status"], error["field"]) == (422, field)


def test_nobody_of_that_name_is_said_so(server: Served) -> None:
    server.join("узел")

    node, job = refusal(server, kind="node", name="узёл"), refusal(server, kind="job", name="x")

    assert (node["status"], job["status"]) == (404, 404)
    assert "узел" in node["remedy"]
    assert told(server, kind="node", name="узел")["items"] == [], "it has told nothing yet"


def test_an_export_is_a_table_with_a_line_for_each_known_value(server: Served) -> None:
    gpus(server, "węzeł", 2, seconds=3)

    response = server.http.get("/metrics/export", params={"kind": "node", "name": "węzeł", "part": "gpu:"})

    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(response.content.decode())))
    assert len(rows) == 6, "power is not known"
    assert rows[0] == {
        "at": "2027-01-15T07:59:57.000Z",
        "kind": "node",
        "subject": "węzeł",
        "part": "gpu:0",
        "name": "utilisation",
        "value": "0.0",
        "unit": "percent",
    }


def test_an_export_holds_no_formula_whoever_chose_the_names(server: Served) -> None:
    id_ = server.submit("a")["id"]
    series_of(server).add(
        [
            Points(
                subject=Subject(JOB, id_, "values"),
                at=[NOW - 1],
                values={"=HYPERLINK(1)": [1.0], "+1": [2.0], "loss": [-0.5], 'a,"b"\n': [float("inf")]},
            )
        ]
    )

    text = server.http.get("/metrics/export", params={"kind": "job", "name": "a", "part": "values"}).text

    rows = list(csv.reader(io.StringIO(text)))[1:]
    assert [row[4] for row in rows] == ["'=HYPERLINK(1)", "'+1", "loss", 'a,"b"\n']
    assert rows[2][5] == "-0.5", "a number is a number"


def test_an_export_of_many_points_is_whole(server: Served) -> None:
    at = [NOW - 12_000 + second for second in range(12_000)]
    server.join("a")
    add(server, Subject(NODE, "a"), at, cpu=[1.0] * 12_000)

    text = server.http.get("/metrics/export", params={"kind": "node", "name": "a", "since": "1d"}).text

    assert len(text.splitlines()) == 12_001
