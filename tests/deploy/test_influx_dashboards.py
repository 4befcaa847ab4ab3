"""What is documented and drawn of InfluxDB is what is written there.

The queries are asked of a real InfluxDB in tests/e2e/test_influx.py.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import pytest
from tests.grafana import DASHBOARDS, Dashboard
from tests.monitor.influx.everything import everything

PAGE = Path(__file__).parents[2] / "docs" / "monitoring.md"
ROW = re.compile(r"^\| `(\w+)` \|(.*)\|(.*)\|$", re.MULTILINE)
OURS = [Dashboard(path) for path in sorted((DASHBOARDS / "influxdb").glob("*.json"))]
each = pytest.mark.parametrize("dashboard", OURS, ids=str)
FROM = re.compile(r'FROM "(\w+)"')
NAMES = re.compile(r'"(\w+)"')
ALIAS = re.compile(r' AS "([^"]+)"')


def test_the_table_of_measurements_is_what_is_written() -> None:
    chapter = PAGE.read_text(encoding="utf-8").partition("\n## InfluxDB\n")[2].partition("\n## ")[0]
    documented = {
        measurement: (named(re.sub(r"\(.*?\)", "", tags)), named(fields))
        for measurement, tags, fields in ROW.findall(chapter)
    }

    assert documented == {name: (known.tags, known.fields) for name, known in everything().items()}


def named(cell: str) -> set[str]:
    return set(re.findall(r"`(\w+)`", cell))


def test_there_is_one_for_the_cluster_a_node_and_a_job_beside_those_for_prometheus() -> None:
    assert [str(dashboard) for dashboard in OURS] == ["cluster", "job", "node"]
    everywhere = [Dashboard(path).content["uid"] for path in DASHBOARDS.rglob("*.json")]
    assert len(set(everywhere)) == len(everywhere)


@each
def test_a_dashboard_is_whole(dashboard: Dashboard) -> None:
    content, source = dashboard.content, {"type": "influxdb", "uid": "${datasource}"}
    targets = [target for panel in dashboard.panels for target in panel["targets"]]

    assert content["id"] is None
    assert len({panel["id"] for panel in content["panels"]}) == len(content["panels"])
    assert all(panel["title"] and panel["description"].endswith(".") for panel in dashboard.panels)
    first, *others = dashboard.variables
    assert (first["name"], first["query"]) == ("datasource", "influxdb")
    assert [one for one in (*dashboard.panels, *targets, *others) if one["datasource"] != source] == []
    assert all(target["rawQuery"] and "$timeFilter" in target["query"] for target in targets)


@each
def test_no_panel_lies_over_another_or_beside_the_page(dashboard: Dashboard) -> None:
    places = [panel["gridPos"] for panel in dashboard.content["panels"]]

    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        assert (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )


@each
def test_queries_and_legends_name_what_is_written(dashboard: Dashboard) -> None:
    known = everything()
    used = set()
    for target in (target for panel in dashboard.panels for target in panel["targets"]):
        query = target["query"]
        (measurement,) = FROM.findall(query)
        ours = known[measurement].tags | known[measurement].fields | {measurement, "each"}
        assert set(NAMES.findall(ALIAS.sub("", query))) <= ours, query
        for tag in re.findall(r"\$tag_(\w+)", target["alias"]):
            assert f'"{tag}"' in query.partition("GROUP BY")[2], f"{target['alias']} of {query}"
        used |= set(re.findall(r"\$(\w+)", query))
    asked = {variable["name"]: str(variable["query"]) for variable in dashboard.variables}
    used |= {name for query in asked.values() for name in re.findall(r"\$(\w+)", query)}

    assert used - {"timeFilter", "__interval"} == asked.keys() - {"datasource"}
