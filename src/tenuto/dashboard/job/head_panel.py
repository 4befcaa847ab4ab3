"""The head of a job's page: what it is, how far, what was promised; and what can be done with it."""

from __future__ import annotations

from html import escape

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.job import facts
from tenuto.dashboard.job.acts import Acts
from tenuto.dashboard.wording import NONE, moment
from tenuto.wire.replies import JobOut


class Head:
    """Stays above the tabs."""

    def __init__(self, ask: AsyncClient, job: JobOut) -> None:
        with card():
            with ui.row().classes("w-full items-center gap-3"):
                self._name = ui.label().classes("t-figure t-job-name").props("role=heading aria-level=1")
                self._state = ui.badge().props('role=status aria-label="State"').classes("t-state")
                ui.space()
                self._acts = Acts(ask, job)
            self._about = ui.html(sanitize=False).classes("t-muted")
            with ui.column().classes("w-full gap-1"):
                self._bar = ui.linear_progress(value=0.0, show_value=False, size="8px")
                self._bar.props('rounded instant-feedback aria-label="Progress"')
                self._progress = ui.label().classes("t-progress")
            self._figures = ui.html(sanitize=False).classes("w-full")

    def show(self, job: JobOut) -> None:
        """Tell how the job is now."""
        self._name.set_text(job.name)
        self._state.set_text(facts.state(job))
        self._state.props(f"color={facts.state_colour(job)}")
        self._about.set_content(_about(job))
        done = facts.progress(job)
        self._bar.set_value(round(done.share, 4))
        self._progress.set_text(done.text)
        self._figures.set_content(_figures(job))
        self._acts.show(job)


def _about(job: JobOut) -> str:
    labels = "".join(
        f' <span class="t-label">{escape(key)}={escape(value)}</span>' for key, value in job.labels.items()
    )
    urgent = "" if job.priority == "normal" else f" · {escape(job.priority)}"
    return f'<span class="t-mono">{escape(job.id)}</span> · {escape(job.owner)}{urgent}{labels}'


def _figures(job: JobOut) -> str:
    told = {
        "Promise": facts.promise_html(job),
        "Deadline": moment(job.deadline),
        "Estimated end" if job.ended_at is None else "End": facts.eta_html(job),
        "Workers": facts.where_html(job) if job.ended_at is None else NONE,
    }
    cells = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in told.items())
    return f'<dl class="t-grid">{cells}</dl>'
