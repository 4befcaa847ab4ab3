"""Dashboards and provisioning files for Grafana: whole, and about things that there are.

Their queries are asked of a real Prometheus in tests/e2e/test_prometheus.py.
"""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.grafana import DASHBOARDS, Dashboard, prometheus_dashboards

from tenuto.monitor.prometheus.families import FAMILIES, Kind

ROOT = Path(__file__).parents[2]
PROVISIONING = DASHBOARDS.parent / "provisioning"
SELECTOR = re.compile(r"((?:tenuto|process)_[a-z0-9_]+)\{([^}]*)\}")
KINDS = {"timeseries", "stat", "table"}
OURS = prometheus_dashboards()
each = pytest.mark.parametrize("dashboard", OURS, ids=str)


def known_labels() -> dict[str, set[str]]:
    """The labels of every series, with those that Prometheus adds."""
    known: dict[str, set[str]] = {}
    for family in FAMILIES:
        labels = {*family.labels, "instance", "job"}
        known[family.name] = labels
        if family.kind is Kind.HISTOGRAM:
            known |= {f"{family.name}_{part}": labels | {"le"} for part in ("bucket", "sum", "count")}
    return known


def selected(query: str) -> list[tuple[str, set[str]]]:
    """The series that a query asks for, and the labels by which it chooses."""
    return [
        (name, set(re.findall(r"(\w+)(?:=~|!~|!=|=)", labels))) for name, labels in SELECTOR.findall(query)
    ]


def test_there_is_one_for_the_cluster_a_node_and_a_job() -> None:
    assert [str(dashboard) for dashboard in OURS] == ["cluster", "job", "node"]


@each
def test_a_dashboard_has_what_grafana_needs(dashboard: Dashboard) -> None:
    content = dashboard.content

    assert content["id"] is None, "numbers are given by the Grafana that it comes to"
    assert content["uid"] == f"tenuto-{dashboard}" and content["title"] and content["description"]
    assert content["schemaVersion"] >= 36 and "tenuto" in content["tags"]
    ids = [panel["id"] for panel in content["panels"]]
    assert len(set(ids)) == len(ids)


@each
def test_a_panel_tells_what_it_shows_and_in_which_unit(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        assert panel["title"] and panel["description"].endswith("."), panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"], panel["title"]
        assert panel["type"] in KINDS and panel["targets"], panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


@each
def test_the_source_is_a_choice_of_the_reader(dashboard: Dashboard) -> None:
    source = {"type": "prometheus", "uid": "${datasource}"}

    first, *others = dashboard.variables
    assert (first["name"], first["type"], first["query"]) == ("datasource", "datasource", "prometheus")
    asking = [
        *dashboard.panels,
        *(target for panel in dashboard.panels for target in panel["targets"]),
        *others,
    ]
    assert [one for one in asking if one["datasource"] != source] == []


def place(panel: dict[str, Any]) -> tuple[range, range]:
    at = panel["gridPos"]
    return range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])


@each
def test_no_panel_lies_over_another_or_beside_the_page(dashboard: Dashboard) -> None:
    places = [(panel["title"], *place(panel)) for panel in dashboard.content["panels"]]

    assert all(across.stop <= 24 for _, across, _ in places)
    for (one, x, y), (other, u, v) in combinations(places, 2):
        assert not (set(x) & set(u) and set(y) & set(v)), f"{one} lies over {other}"
    tops = [down.start for _, _, down in places]
    assert all(before <= after for before, after in pairwise(tops)), "in the order in which one reads"


@each
def test_queries_ask_for_series_and_labels_that_there_are(dashboard: Dashboard) -> None:
    known = known_labels()
    queries = [*dashboard.queries(), *((name, selector) for name, selector, _ in dashboard.choices())]

    for name, query in queries:
        found = selected(query)
        bare = set(re.findall(r"\btenuto_[a-z0-9_]+", query)) - {series for series, _ in found}
        assert bare <= {"tenuto_build_info"}, f"{name}: not of one server: {bare}"
        for series, labels in found:
            assert series in known, f"{name}: there is no {series}"
            assert labels <= known[series], f"{name}: {series} has no {labels - known[series]}"
            assert "instance" in labels, f"{name}: of all servers at once"


@each
def test_variables_are_used_and_those_used_are_there(dashboard: Dashboard) -> None:
    used = {
        name
        for text in [
            *(query for _, query in dashboard.queries()),
            *(one for _, one, _ in dashboard.choices()),
        ]
        for name in re.findall(r"\$\{?(\w+)", text)
    }

    assert used - {"__rate_interval"} == {variable["name"] for variable in dashboard.variables} - {
        "datasource"
    }


def test_the_provider_and_the_sources_are_what_the_dashboards_want() -> None:
    [sources] = PROVISIONING.joinpath("datasources").glob("*.yml")
    found = yaml.safe_load(sources.read_text(encoding="utf-8"))
    [provider] = yaml.safe_load((PROVISIONING / "dashboards" / "tenuto.yml").read_text(encoding="utf-8"))[
        "providers"
    ]

    assert found["apiVersion"] == 1
    assert {one["uid"]: one["type"] for one in found["datasources"]} == {
        "tenuto-prometheus": "prometheus",
        "tenuto-influxdb": "influxdb",
    }
    assert sum(bool(one.get("isDefault")) for one in found["datasources"]) == 1
    assert (provider["type"], provider["options"]["path"]) == ("file", "/var/lib/grafana/dashboards/tenuto")


def test_no_two_dashboards_have_one_uid() -> None:
    uids = [Dashboard(path).content["uid"] for path in DASHBOARDS.glob("*/*.json")]

    assert len(set(uids)) == len(uids)
