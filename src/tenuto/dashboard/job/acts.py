"""What can be done with a job as a whole: pause, resume, cancel, submit again, change, delete."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from typing import Literal

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import acted, confirmed
from tenuto.dashboard.wording import job_path
from tenuto.model.phase import ENDED
from tenuto.wire.replies import JobOut

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d)?)?")
"""A date without a zone: it is meant in the viewer's, which only the browser knows."""


class Acts:
    """The buttons; those that make no sense now are not shown."""

    def __init__(self, ask: AsyncClient, job: JobOut) -> None:
        self._ask = ask
        self._job = job
        with ui.row().classes("items-center gap-1 t-acts"):
            self._pause = _button("Pause", "pause", self._do_pause)
            self._resume = _button("Resume", "play_arrow", self._do_resume)
            self._cancel = _button("Cancel", "cancel", self._do_cancel)
            self._deadline = _button("Deadline", "event", self._change_deadline)
            self._priority = _button("Urgent", "priority_high", self._change_priority)
            _button("Resubmit", "replay", self._resubmit)
            with ui.element("a").props(f'href="/submit?from={job.id}"').classes("t-button"):
                ui.icon("edit", size="18px").props("aria-hidden=true")
                ui.label("Resubmit with edit")
            self._delete = _button("Delete", "delete", self._do_delete)

    def show(self, job: JobOut) -> None:
        """Offer what can be done now."""
        self._job = job
        ended = job.state in ENDED
        pausing = job.state == "paused" or job.wish == "pause"
        self._pause.set_visibility(not ended and not pausing)
        self._resume.set_visibility(not ended and pausing)
        self._cancel.set_visibility(not ended and job.wish != "cancel")
        self._deadline.set_visibility(not ended)
        self._priority.set_visibility(not ended)
        self._priority.set_text("Normal" if job.priority == "urgent" else "Urgent")
        self._delete.set_visibility(ended)

    async def _do_pause(self) -> None:
        await acted(self._ask.pause(self._job.id), "It gives its slots back and waits.")

    async def _do_resume(self) -> None:
        await acted(self._ask.resume(self._job.id), "It is asked for anew.")

    async def _do_cancel(self) -> None:
        if await confirmed(
            f"End {self._job.name} for good? What it has not saved is lost.", "Cancel the job"
        ):
            await acted(self._ask.cancel(self._job.id), "It is being ended.")

    async def _resubmit(self) -> None:
        made = await acted(self._ask.resubmit(self._job.id), "Submitted again.")
        if made is not None:
            ui.navigate.to(job_path(made.id))

    async def _do_delete(self) -> None:
        question = f"Forget {self._job.name}, with its events, numbers and logs?"
        if not await confirmed(question, "Delete the job"):
            return
        if await acted(self._ask.delete(self._job.id), "Deleted.") is not None:
            ui.navigate.to("/jobs")

    async def _change_priority(self) -> None:
        other: Literal["normal", "urgent"] = "normal" if self._job.priority == "urgent" else "urgent"
        await acted(self._ask.change(self._job.id, priority=other), f"Its priority is {other} now.")

    async def _change_deadline(self) -> None:
        written = await _asked_for_deadline(self._job)
        if written is None:
            return
        if _DATE.fullmatch(written):
            written = await ui.run_javascript(f"new Date({json.dumps(written)}).toISOString()")
        await acted(self._ask.change(self._job.id, deadline=written or None), "The deadline is changed.")


async def _asked_for_deadline(job: JobOut) -> str | None:
    """What the visitor wrote; empty to take the deadline away, None for nothing."""
    with ui.dialog() as dialog, ui.card().classes("gap-2"):
        ui.label(f"By when shall {job.name} be done?")
        field = ui.input("Deadline", placeholder="+6h, or 2026-11-16 18:00").props("autofocus outlined dense")
        field.on("keydown.enter", lambda: dialog.submit(field.value or None))
        ui.label("It is asked for anew: what cannot be promised is refused and changes nothing.").classes(
            "t-muted"
        )
        with ui.row().classes("w-full justify-end"):
            ui.button("Close", on_click=lambda: dialog.submit(None)).props("flat no-caps")
            if job.deadline is not None:
                ui.button("No deadline", on_click=lambda: dialog.submit("")).props("flat no-caps")
            ui.button("Change", on_click=lambda: dialog.submit(field.value or None)).props("no-caps")
    try:
        answer = await dialog
    finally:
        dialog.delete()
    return None if answer is None else str(answer).strip()


def _button(text: str, icon: str, act: Callable[[], Awaitable[None]]) -> ui.button:
    return ui.button(text, icon=icon, on_click=act).props("flat dense no-caps").classes("px-2")
