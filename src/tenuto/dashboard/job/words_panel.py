"""A job in words: what was asked for, and why it is as it is."""

from __future__ import annotations

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.job.explaining import explained
from tenuto.dashboard.wording import sentence
from tenuto.errors import TenutoError
from tenuto.wire.job_yaml import as_yaml
from tenuto.wire.replies import JobOut


class Config:
    """The job as its file says it."""

    def __init__(self) -> None:
        with card("As it was submitted"):
            # As text: what would colour it takes it for Markdown, in which a job could end its own quotation.
            self._text = ui.label().classes("t-mono t-file w-full").props('role=group aria-label="YAML"')
            with ui.row().classes("items-center gap-2"):
                ui.label("tenuto submit job.yaml takes it as it stands here.").classes("t-muted")
                ui.button("Copy", icon="content_copy").props("flat dense no-caps").on(
                    "click",
                    js_handler=f"() => navigator.clipboard?.writeText(getHtmlElement({self._text.id}).textContent)",
                )

    async def draw(self, job: JobOut) -> None:
        """Show what is asked for now."""
        self._text.set_text(as_yaml(job.spec))


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
            # What was told before is still true enough.
            if not self._told.content:
                self._told.set_content(f'<p class="t-muted">{sentence(str(error))}</p>')
            return
        self._told.set_content(explained(found))
