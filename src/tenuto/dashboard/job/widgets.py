"""Small elements that the parts of a job's page share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from nicegui import ui

from tenuto.dashboard.job.sizing import Button


class Press:
    """A button that says why it cannot be pressed."""

    def __init__(self, text: str, label: str, act: Callable[[], Awaitable[None]], props: str = "") -> None:
        with ui.element("span") as self._around:  # what is disabled shows no tooltip of its own
            self._button = ui.button(text, on_click=act).props(f"dense no-caps {props}")
        self._button.props["aria-label"] = label

    def show(self, button: Button) -> None:
        """Whether it can be pressed."""
        self._button.set_enabled(button.works)
        if self._around.props.get("title") != button.why_not:
            self._around.props["title"] = button.why_not
            self._around.update()


def facts_html(facts: dict[str, str]) -> str:
    """Names and what is told of them, which is HTML already."""
    return (
        '<dl class="t-facts">'
        + "".join(f"<dt>{name}</dt><dd>{told}</dd>" for name, told in facts.items())
        + "</dl>"
    )


def table(
    label: str, columns: dict[str, str], slots: dict[str, str], wide: Collection[str] = (), **options: Any
) -> ui.table:
    """A table whose cells wrap; `columns` are titles by field, `slots` templates, `wide` not for phones."""
    made = ui.table(
        columns=[_column(field, title, wide=field in wide) for field, title in columns.items()],
        rows=[],
        row_key="key",
        **options,
    ).props(f'flat dense wrap-cells aria-label="{label}"')
    made.classes("w-full t-plain-table")
    for field, template in slots.items():
        made.add_slot(f"body-cell-{field}", f'<q-td :props="props">{template}</q-td>')
    return made


def _column(field: str, title: str, *, wide: bool) -> dict[str, str]:
    hidden = "t-wide" if wide else ""
    return {
        "name": field, "label": title, "field": field, "align": "left", "classes": hidden, "headerClasses": hidden,
    }  # fmt: skip


NODE_CELL = '<a v-if="props.row.node" :href="props.row.href">{{ props.row.node }}</a>'


def time_cell(field: str) -> str:
    """A moment, shown by the browser in its own zone."""
    return f'<time v-if="props.row.{field}" :datetime="props.row.{field}" :key="props.row.{field}"></time>'


def fill(table_: ui.table, rows: list[dict[str, Any]]) -> None:
    """Show other rows, if they are others."""
    if table_.rows != rows:
        table_.rows = rows
        table_.update()
