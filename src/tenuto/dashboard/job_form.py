"""The form of a job: fields for its common keys. It tells which field was changed, and shows what it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement
from nicegui.elements.mixins.value_element import ValueElement
from nicegui.events import ValueChangeEventArguments

from tenuto.dashboard.job_fields import CHOICES, KEYS

_TEXT = "dense outlined debounce=250 hide-bottom-space"
_AREA = f"{_TEXT} autogrow input-class=t-mono"
_DEADLINES = ("+1h", "+6h", "+1d")


class JobForm:
    """The fields; `changed` is called with the key of a job that a visitor has changed in them."""

    def __init__(self, changed: Callable[[str], None]) -> None:
        self._changed = changed
        self._fields: dict[str, ValueElement[Any]] = {}
        self._filling = False
        self._text("name", "Name", "resnet-50").props("autofocus")
        self._area("run", "Command", "python train.py --data /data/imagenet")
        with ui.row().classes("w-full gap-3 no-wrap"):
            self._count("least", "Fewest workers")
            self._count("most", "Most workers")
        with ui.row().classes("w-full gap-3 no-wrap"):
            self._keep("amount", ui.number("All the work", min=0, format="%.12g")).props(_TEXT).classes(
                "t-field"
            )
            self._keep("unit", ui.select(["steps", "epochs"], value="steps", label="Counted in")).props(
                "dense outlined"
            ).classes("t-field")
        self._text("curve", "Curve: speed at sizes", "1: 3.2, 2: 6.1, 4: 11.5 (steps per second), or auto")
        self._add_deadline()
        with ui.row().classes("w-full gap-3 no-wrap"):
            for name, known in CHOICES.items():
                choice = ui.select(list(known), value=known[0], label=name.capitalize())
                self._keep(name, choice).props("dense outlined").classes("t-field")
        self._area("labels", "Labels", "team=vision")
        with (
            ui.expansion("More").classes("w-full").props("dense header-class=q-px-none"),
            ui.column().classes("w-full gap-3"),
        ):
            self._area("env", "Environment variables", "OMP_NUM_THREADS=2")
            self._text("workdir", "Directory in which it runs", "/home/me/project")
            self._text("environment", "Virtual or conda environment", "/home/me/project/.venv")
            self._text("checkpoint", "Directory of its checkpoints", "/data/checkpoints/resnet")
            self._text("after", "After job", "id or name")
            self._text("node", "Only on node", "node-0")
            self._text("max_duration", "Longest time of running", "2d")

    def _add_deadline(self) -> None:
        with ui.row().classes("w-full gap-1 items-center no-wrap"):
            self._text("deadline", "Deadline", "+6h, or 2030-11-20 18:00 in your time zone")
            for span in _DEADLINES:
                ui.button(span, on_click=lambda _, span=span: self._take("deadline", span)).props(
                    "flat dense no-caps"
                )

    def _take(self, name: str, value: str) -> None:
        self._fields[name].value = value

    def _text(self, name: str, label: str, example: str) -> ui.input:
        made = ui.input(label, placeholder=example).props(_TEXT).classes("w-full")
        self._keep(name, made)
        return made

    def _area(self, name: str, label: str, example: str) -> None:
        self._keep(name, ui.textarea(label, placeholder=example)).props(_AREA).classes("w-full")

    def _count(self, name: str, label: str) -> None:
        self._keep(name, ui.number(label, min=1, precision=0)).props(_TEXT).classes("t-field")

    def _keep(self, name: str, field: Any) -> Any:
        def tell(_: ValueChangeEventArguments[Any]) -> None:
            if not self._filling:
                self._changed(KEYS[name])

        field.on_value_change(tell)
        self._fields[name] = field
        return field

    @property
    def values(self) -> dict[str, Any]:
        """What stands in the fields."""
        empty = {"least": None, "most": None, "amount": None}
        return {
            name: empty.get(name, "") if field.value is None else field.value
            for name, field in self._fields.items()
        }

    def fill(self, values: Mapping[str, Any]) -> None:
        """Show other values; nobody is told."""
        self._filling = True
        try:
            for name, value in values.items():
                if self._fields[name].value != value:
                    self._fields[name].value = value
        finally:
            self._filling = False

    def blame(self, key: str, trouble: str) -> None:
        """Say at the fields of a key what is wrong with it, and nothing at all others."""
        for name, field in self._fields.items():
            if isinstance(field, ValidationElement):
                field.error = trouble if trouble and KEYS[name] == key else None
