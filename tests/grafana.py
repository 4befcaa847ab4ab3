"""Dashboards for Grafana as a test reads them: their panels, and every query in them as it is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

DASHBOARDS = Path(__file__).parents[1] / "deploy" / "grafana" / "dashboards"
LABEL_VALUES = re.compile(r"label_values\((.*), (\w+)\)")


@dataclass(frozen=True)
class Dashboard:
    """One file."""

    path: Path

    def __str__(self) -> str:
        return self.path.stem

    @cached_property
    def content(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    @property
    def panels(self) -> list[dict[str, Any]]:
        """Those that show something."""
        return [panel for panel in self.content["panels"] if panel["type"] != "row"]

    @property
    def variables(self) -> list[dict[str, Any]]:
        variables: list[dict[str, Any]] = self.content["templating"]["list"]
        return variables

    def queries(self) -> Iterator[tuple[str, str]]:
        """Every query of every panel, with a name."""
        for panel in self.panels:
            for target in panel["targets"]:
                yield f"{panel['id']} {panel['title']} {target['refId']}", target["expr"]

    def choices(self) -> Iterator[tuple[str, str, str]]:
        """What is asked for the values of variables: a name, a selector and a label."""
        for variable in self.variables:
            if variable["type"] == "query":
                found = LABEL_VALUES.fullmatch(variable["query"]["query"])
                assert found is not None, variable
                yield variable["name"], found[1], found[2]


def prometheus_dashboards() -> list[Dashboard]:
    return [Dashboard(path) for path in sorted((DASHBOARDS / "prometheus").glob("*.json"))]


def filled_in(query: str, values: Mapping[str, str]) -> str:
    """A query with values for its variables, as Grafana asks it."""
    for name, value in values.items():
        query = query.replace(f"${{{name}}}", value).replace(f"${name}", value)
    assert "$" not in query, query
    return query
