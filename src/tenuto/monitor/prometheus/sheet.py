"""A sheet on which values are put down by their families, and which becomes lines of the page.

A thousand nodes are a hundred thousand lines: written here they take a tenth of what the library takes for them, which
looks at every name and label anew. Both of its formats write gauges alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan

from tenuto.monitor.prometheus.families import Family, Kind

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Sheet:
    """Gauges, and counters whose counting is done elsewhere."""

    def __init__(self) -> None:
        self._lines: dict[Family, list[str]] = {}
        self._labels: dict[tuple[tuple[str, ...], tuple[str, ...]], str] = {}
        """Labels as they are written: those of a GPU stand in many families."""

    def put(self, family: Family, value: float | None, *labels: str) -> None:
        """Put a value down; one that nobody knows is left out."""
        if value is None:
            return
        key = family.labels, labels
        written = self._labels.get(key)
        if written is None:
            written = self._labels[key] = _labels(family.labels, labels)
        self._lines.setdefault(family, []).append(f"{family.name}{written} {_number(value)}\n")

    def text(self, *, openmetrics: bool) -> str:
        """Everything that was put down, family by family."""
        return "".join(self._parts(openmetrics))

    def _parts(self, openmetrics: bool) -> Iterator[str]:
        for family, lines in self._lines.items():
            name = family.name
            if openmetrics and family.kind is Kind.COUNTER:
                name = name.removesuffix("_total")
            yield f"# HELP {name} {family.help}\n# TYPE {name} {family.kind.value}\n"
            yield from lines


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = [f'{name}="{value.translate(_ESCAPED)}"' for name, value in zip(names, values, strict=True)]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
