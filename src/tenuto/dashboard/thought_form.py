"""The fields of a what-if question, and buttons for the common ones."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from nicegui import ui

from tenuto.dashboard.thought import Thought, slots_in

MOST_QUICK = 4
"""Nodes that have a button of their own."""
MOST_SLID = 64
"""Slots; more are typed."""
_DENSE = "dense outlined hide-bottom-space"
_CHOICE = f"{_DENSE} options-dense"
Asked = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Around:
    """What there is to be different."""

    nodes: Sequence[str]
    jobs: Mapping[str, str]
    """What they are called, by id."""
    policy: str
    policies: Sequence[str]


class ThoughtForm:
    """Holds a question; `asked` is called when a button asks it."""

    def __init__(self, around: Around, thought: Thought, asked: Asked) -> None:
        self._around, self._asked = around, asked
        self._deadlines: list[tuple[ui.select, ui.input]] = []
        self._add_quick()
        with ui.row().classes("w-full gap-3"):
            self._lose = self._several("Lose nodes", list(around.nodes), thought.lose)
            self._nodes = ui.input("More nodes", value=thought.nodes, placeholder="2x8")
            self._nodes.props(_DENSE).classes("t-field")
        with ui.row().classes("w-full gap-3 items-center"):
            self._slots = ui.number("More slots", value=thought.slots or None, min=0, max=4096, precision=0)
            self._slots.props(_DENSE).classes("t-field")
            self._slider = ui.slider(
                min=0, max=MOST_SLID, value=min(thought.slots, MOST_SLID), on_change=self._slid
            )
            self._slider.props('label dense aria-label="More slots, to slide"').classes("t-field")
        self._add_policy(thought)
        with ui.row().classes("w-full gap-3"):
            self._cancel = self._several("Cancel jobs", dict(around.jobs), thought.cancel)
        self._rows = ui.column().classes("w-full gap-3")
        for ref, when in thought.deadlines or (("", ""),):
            self._add_deadline(ref, when)
        ui.button("Another deadline", icon="add", on_click=lambda: self._add_deadline("", "")).props(
            "flat dense no-caps"
        )
        with ui.expansion("Submit a job", value=bool(thought.job)).classes("w-full") as opened:
            opened.props("dense header-class=q-px-none")
            self._job = ui.codemirror(thought.job, language="YAML", indent="  ", line_wrapping=True)
            self._job.classes("w-full t-editor").props('role=group aria-label="YAML of a job"')

    @property
    def value(self) -> Thought:
        """What is asked."""
        deadlines = ((str(ref.value or ""), (when.value or "").strip()) for ref, when in self._deadlines)
        return Thought(
            lose=tuple(self._lose.value or ()),
            slots=slots_in(self._slots.value),
            nodes=(self._nodes.value or "").strip(),
            policy=self._policy.value or "",
            settings=(self._settings.value or "").strip(),
            deadlines=tuple((ref, when) for ref, when in deadlines if ref and when),
            cancel=tuple(self._cancel.value or ()),
            job=(self._job.value or "").strip(),
        )

    def clear(self) -> None:
        """Nothing is to be different."""
        self._lose.value, self._cancel.value = [], []
        self._slots.value, self._slider.value = None, 0
        self._nodes.value = self._settings.value = self._policy.value = self._job.value = ""
        for ref, when in self._deadlines:
            ref.value, when.value = None, ""

    def _add_quick(self) -> None:
        with ui.row().classes("w-full gap-2"):
            for name in self._around.nodes[:MOST_QUICK]:
                self._quick(f"lose {name}", Thought(lose=(name,)))
            for count in (4, 8):
                self._quick(f"+{count} slots", Thought(slots=count))
            ui.label("policy:").classes("t-muted t-small self-center")
            for name in self._around.policies:
                if name != self._around.policy:
                    self._quick(name, Thought(policy=name))

    def _quick(self, label: str, thought: Thought) -> None:
        """One change and no other."""

        async def ask() -> None:
            self.clear()
            self._lose.value = list(thought.lose)
            self._slots.value, self._slider.value = thought.slots or None, thought.slots
            self._policy.value = thought.policy
            await self._asked()

        ui.button(label, on_click=ask).props("outline dense no-caps size=sm padding='2px 8px'")

    def _add_policy(self, thought: Thought) -> None:
        known = {"": f"as it is ({self._around.policy})", **{name: name for name in self._around.policies}}
        if thought.policy:
            known.setdefault(thought.policy, thought.policy)
        with ui.row().classes("w-full gap-3"):
            self._policy = ui.select(known, label="Policy", value=thought.policy)
            self._policy.props(_CHOICE).classes("t-field")
            self._settings = ui.input(
                "Settings", value=thought.settings, placeholder="interval=2m, margin=0.2"
            )
            self._settings.props(_DENSE).classes("t-field")

    def _add_deadline(self, ref: str, when: str) -> None:
        jobs = {**self._around.jobs, **({ref: ref} if ref and ref not in self._around.jobs else {})}
        with self._rows, ui.row().classes("w-full gap-3"):
            job = ui.select(jobs, label="Deadline of", value=ref or None, with_input=True, clearable=True)
            job.props(_CHOICE).classes("t-field")
            moment = ui.input("is", value=when, placeholder="+2h, a date with its zone, or none")
            moment.props(f'{_DENSE} aria-label="New deadline"').classes("t-field")
        self._deadlines.append((job, moment))

    def _several(self, label: str, known: list[str] | dict[str, str], chosen: Sequence[str]) -> ui.select:
        """Any number of those that there are, and of those that the address names."""
        for one in chosen:
            if one not in known:
                known.append(one) if isinstance(known, list) else known.update({one: one})
        field = ui.select(known, label=label, value=list(chosen), multiple=True, with_input=True)
        field.props(f"{_CHOICE} use-chips").classes("t-field")
        return field

    def _slid(self) -> None:
        self._slots.value = slots_in(self._slider.value) or None
