"""Figures of one run: named, in tables for people, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.table import Table


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that so large a share of all is not above."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)] if ordered else math.nan


@dataclass
class Report:
    """Tables in the order in which they were measured."""

    tables: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row; its keys name the columns."""
        self.tables.setdefault(table, []).append(row)

    def note(self, sentence: str) -> None:
        """Add what a reader must know."""
        self.notes.append(sentence)

    def show(self, console: Console) -> None:
        """For people."""
        for title, rows in self.tables.items():
            columns = list(dict.fromkeys(name for row in rows for name in row))
            table = Table(title=title, title_justify="left", box=None)
            for index, column in enumerate(columns):
                table.add_column(column, justify="left" if index == 0 else "right")
            for row in rows:
                table.add_row(*(_written(row.get(column, "")) for column in columns))
            console.print(table, "")
        for sentence in self.notes:
            console.print(f"· {sentence}", soft_wrap=True, highlight=False)

    def to_json(self) -> str:
        """For programs."""
        return json.dumps({"tables": self.tables, "notes": self.notes}, indent=1, ensure_ascii=False)


def _written(value: Any) -> str:
    if not isinstance(value, float):
        return f"{value:,}" if isinstance(value, int) else str(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
