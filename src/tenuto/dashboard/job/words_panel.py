"""A job in words: what was asked for, and why it is as it is."""

from __future__ import annotations

from html import escape

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import tell_trouble
from tenuto.dashboard.frame import card
from tenuto.dashboard.wording import job_path, link, moment, sentence
from tenuto.errors import TenutoError
from tenuto.wire.job_yaml import as_yaml
from tenuto.wire.questions import ExplainOut, HolderOut, RemedyOut
from tenuto.wire.replies import JobOut


class Config:
    """The job as its file says it."""

    def __init__(self) -> None:
        with card("As it was submitted"):
            self._code = ui.code("", language="yaml").classes("w-full")
            ui.label("tenuto submit job.yaml takes it as it stands here.").classes("t-muted")

    async def draw(self, job: JobOut) -> None:
        """Show what is asked for now."""
        written = as_yaml(job.spec)
        if self._code.content != written:
            self._code.set_content(written)


class Explanation:
    """Asked for when somebody looks at it: it is worked out on the whole state."""

    def __init__(self, ask: AsyncClient) -> None:
        self._ask = ask
        with card("Why it is as it is"):
            self._told = ui.html(sanitize=False).classes("w-full")

    async def draw(self, job: JobOut) -> None:
        """Ask, and tell."""
        try:
            found = await self._ask.explain(job.id)
        except TenutoError as error:
            tell_trouble(str(error))
            return
        self._told.set_content(explained(found))


def explained(found: ExplainOut) -> str:
    """HTML of an explanation."""
    parts = ["".join(f"<p>{sentence(one)}</p>" for one in found.sentences)]
    if found.in_the_way:
        parts.append("<h3>In the way</h3><ul>" + "".join(map(_holder, found.in_the_way)) + "</ul>")
    if found.remedies:
        parts.append("<h3>What would help</h3><ul>" + "".join(map(_remedy, found.remedies)) + "</ul>")
    parts.append(f'<p class="t-muted">As of {moment(found.as_of)}.</p>')
    return f'<div class="t-words">{"".join(parts)}</div>'


def _holder(one: HolderOut) -> str:
    slots = "1 slot" if one.slots == 1 else f"{one.slots} slots"
    promised = "" if one.promised is None else f", promised {moment(one.promised)}"
    until = "" if one.finish is None else f", done {moment(one.finish)}"
    return f"<li>{link(job_path(one.id), one.name)} has {slots}{promised}{until}</li>"


def _remedy(one: RemedyOut) -> str:
    command = f"<br><code>{escape(one.command)}</code>" if one.command else ""
    return f"<li>{sentence(one.sentence)}{command}</li>"
