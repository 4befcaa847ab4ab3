"""Submit: a job as a form and as a file, what it would be answered, and what it is answered."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from nicegui import ui
from starlette.requests import Request

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import tell_trouble
from tenuto.dashboard.answers import Offer, Told, fact_rows, moved_lines, told_plan, told_verdict
from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.job_fields import fields_in, value_for
from tenuto.dashboard.job_form import JobForm
from tenuto.dashboard.job_text import blamed, edit_between, with_key, without_zone, written_in
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import job_path, link
from tenuto.errors import InputInvalid, TenutoError
from tenuto.wire.job_file import WrittenJob
from tenuto.wire.job_yaml import as_yaml
from tenuto.wire.replies import JobOut

SOON, LATER = 1.5, 20.0
"""Seconds after which somebody who waits for an answer wants to know why, and then again."""
Accept = Callable[[Offer], Awaitable[None]]


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/submit", response_timeout=20)
    async def submit(request: Request) -> None:
        ask, origin = site.ask(request), None
        wanted, trouble = request.query_params.get("from", ""), ""
        if wanted:
            try:
                origin = await ask.job(wanted)
            except TenutoError as error:
                trouble = str(error)
        with frame("Submit", "/submit", request.state.visitor.user):
            page = Submit(ask, origin)
        if trouble:
            page.tell(trouble)


class Submit:
    """A job in two views, and the answers to it. The text is what counts; the form is a view of it."""

    def __init__(self, ask: AsyncClient, origin: JobOut | None) -> None:
        self._ask = ask
        self._origin = origin
        """The job that is submitted again."""
        self._asked = False
        """Whether what is missing may be complained about: not while somebody is still typing."""
        self._key = ""
        """Under which the job is handed in; the same until that is known to have been done."""
        self._following = True
        if origin is not None:
            ui.html(f"Again, after {link(job_path(origin.id), origin.name)}", sanitize=False)
        with ui.row().classes("w-full gap-4 items-start t-halves"):
            with card("Job"):
                self._form = JobForm(self._form_changed)
            with ui.column().classes("t-side gap-4"):
                self._add_file()
                self._answer = (
                    ui.column()
                    .classes("w-full gap-4")
                    .props('role=region aria-label="Answer" aria-live=polite')
                )
        if origin is not None:
            self._set_text(as_yaml(origin.spec))

    def _add_file(self) -> None:
        with card("The same as a file"):
            self._file = (
                ui.codemirror(
                    "", language="YAML", indent="  ", line_wrapping=True, on_change=self._text_changed
                )
                .classes("w-full t-editor")
                .props('role=group aria-label="YAML"')
            )
            self._trouble = ui.label().classes("t-bad").props("role=alert")
            with ui.row().classes("gap-2"):
                self._ask_button = ui.button("Ask", on_click=self._plan).props("outline no-caps")
                self._submit_button = ui.button("Submit", on_click=self._submit).props("no-caps unelevated")
            ui.label("Ask tells what would be answered, and submits nothing.").classes("t-muted t-small")

    # two views of one job

    def _set_text(self, text: str) -> None:
        """Another text from here, not from the keyboard."""
        self._following = False
        self._file.value = text
        self._following = True
        self._follow()

    def _form_changed(self, key: str) -> None:
        try:
            values = written_in(self._file.value).values
            text = with_key(self._file.value, key, value_for(key, self._form.values, values))
        except InputInvalid as error:
            self._complain(error)
            return
        self._following = False
        self._file.value = text
        self._following = True
        self._checked()

    def _text_changed(self) -> None:
        self._key = ""  # it is another job now
        if self._following:
            self._follow()

    def _follow(self) -> None:
        """Let the form show what the text says, as far as it can."""
        try:
            values = written_in(self._file.value).values
        except InputInvalid as error:
            self._complain(error)
            return
        self._form.fill(fields_in(values))
        self._checked()

    def _checked(self) -> WrittenJob | None:
        """The job if it can be sent; else what is wrong with it is said."""
        try:
            job = written_in(self._file.value).checked()
        except InputInvalid as error:
            missing = not error.field or error.field.split(".")[0] not in written_in(self._file.value).values
            self._complain(None if missing and not self._asked else error)
            return None
        self._complain(None)
        return job

    def _complain(self, error: InputInvalid | None) -> None:
        self.tell("" if error is None else str(error))
        key = "" if error is None else (error.field or "").split(".")[0]
        self._form.blame(key, "" if error is None else f"{error.problem}. {error.remedy}")

    def tell(self, trouble: str) -> None:
        """Say what is wrong."""
        self._trouble.set_text(trouble)

    # asking and submitting

    async def _ready(self) -> WrittenJob | None:
        """The job as it is sent: a deadline without a zone is meant in the visitor's."""
        self._asked = True
        job = self._checked()
        local = None if job is None else without_zone(job.values.get("deadline"))
        if job is None or local is None:
            return job
        deadline = await ui.run_javascript(f"new Date({json.dumps(local)}).toISOString()", timeout=10.0)
        return job.changed({"deadline": deadline})

    @asynccontextmanager
    async def _busy(self, button: ui.button) -> AsyncIterator[None]:
        """Nothing is asked twice; what is refused is told with its place."""
        for one in (self._ask_button, self._submit_button):
            one.disable()
        button.props("loading")
        try:
            yield
        except InputInvalid as error:
            self._complain(error)
        except TenutoError as error:
            tell_trouble(str(error))
        finally:
            button.props(remove="loading")
            for one in (self._ask_button, self._submit_button):
                one.enable()

    async def _plan(self) -> None:
        job = await self._ready()
        if job is None:
            return
        async with self._busy(self._ask_button):
            try:
                plan = await self._ask.plan(job.values)
            except InputInvalid as error:
                raise blamed(job, error) from None
            self._show(told_plan(plan.jobs[0], _unit(job.values)), "If it were submitted now", self._accept)
            with self._answer:
                _show_moved(moved_lines(plan), plan.remarks)

    async def _accept(self, offer: Offer) -> None:
        """Take what was offered for a job that is not submitted yet."""
        self._edit(offer)
        await self._submit()

    def _edit(self, offer: Offer) -> None:
        text = self._file.value
        for key, value in offer.edit.items():
            text = with_key(text, key, value)
        self._set_text(text)

    async def _submit(self) -> None:
        job = await self._ready()
        if job is None:
            return
        self._key = self._key or uuid.uuid4().hex
        async with self._busy(self._submit_button):
            try:
                made = await self._handed_in(job.values)
            except InputInvalid as error:
                self._key = ""
                raise blamed(job, error) from None
            self._key = ""
            await self._tell_verdict(made)

    async def _handed_in(self, values: Mapping[str, Any]) -> JobOut:
        if self._origin is None:
            return await self._ask.submit(values, key=self._key)
        return await self._ask.resubmit(
            self._origin, key=self._key, **edit_between(self._origin.spec, values)
        )

    async def _tell_verdict(self, made: JobOut) -> None:
        self._answer.clear()
        with self._answer, card("Submitted"):
            ui.html(f"The job is stored: {link(job_path(made.id), made.name)}", sanitize=False)
            waiting = ui.label().classes("t-muted")
        client, patience = ui.context.client, SOON
        while True:
            try:
                answered = await self._ask.verdict(made, timeout=patience)
                break
            except TimeoutError:
                if not client.has_socket_connection:
                    return
                waiting.set_text("It waits for its answer. It gets it, too, if you leave this page.")
                patience = LATER

        async def accept(offer: Offer) -> None:
            await self._again(answered, offer)

        self._show(told_verdict(answered), f"Answer to {answered.name}", accept)

    async def _again(self, declined: JobOut, offer: Offer) -> None:
        """Take what was offered for a job that was declined: it is submitted again with that."""
        self._edit(offer)
        async with self._busy(self._submit_button):
            made = await self._ask.resubmit(declined, key=uuid.uuid4().hex, **offer.edit)
            await self._tell_verdict(made)

    def _show(self, told: Told, title: str, accept: Accept) -> None:
        self._answer.clear()
        with self._answer, card(title):
            ui.label(told.headline).classes(f"t-figure t-word t-{told.tone}")
            if told.reason:
                ui.html(told.reason, sanitize=False)
            ui.html(fact_rows(told.facts.items()), sanitize=False)
            with ui.row().classes("gap-2"):
                for offer in told.offers:
                    with ui.button(on_click=lambda _, offer=offer: self._take(accept, offer)) as button:
                        ui.html(offer.label, sanitize=False)
                    button.props("outline no-caps")

    async def _take(self, accept: Accept, offer: Offer) -> None:
        with self._answer:  # the button itself goes when the next answer comes
            await accept(offer)


def _show_moved(lines: str, remarks: list[str]) -> None:
    if lines:
        with card("Other jobs"):
            ui.html(lines, sanitize=False).classes("w-full")
    for remark in remarks:
        ui.label(remark).classes("t-muted")


def _unit(values: Mapping[str, Any]) -> str:
    total = values.get("total")
    return "epochs" if isinstance(total, Mapping) and "epochs" in total else "steps"
