"""Doing what was only thought: a button for each part of a what-if question that can be done from here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import acted, confirmed
from tenuto.dashboard.thought import Thought, moment_meant, settings_in
from tenuto.wire.job_file import WrittenJob

Deed = Callable[[], Awaitable[object]]


class Acts:
    """Each asks before it does anything."""

    def __init__(self, ask: AsyncClient) -> None:
        self._ask = ask

    def add_for(self, thought: Thought, job: WrittenJob | None) -> None:
        """Add the buttons that belong to a question."""
        ask, add = self._ask, self._button
        if thought.policy or thought.settings:
            name, settings = thought.policy or None, settings_in(thought.settings) or None
            question = f"{name or 'These settings'} will rule from the next round on."
            deed = partial(ask.set_policy, name, settings=settings)
            add(f"Put {name or 'the settings'} in force", question, deed)
        for node in thought.lose:
            question = f"All workers leave {node}, and it gets no others."
            add(f"Drain {node}", question, partial(ask.drain, node))
        for ref, when in thought.deadlines:
            question = f"The deadline of {ref} will be {when}."
            add(f"Change the deadline of {ref}", question, partial(self._postpone, ref, when))
        for ref in thought.cancel:
            question = f"{ref} will be cancelled; that cannot be taken back."
            add(f"Cancel {ref}", question, partial(ask.cancel, ref))
        if job is not None:
            values = job.values
            question = "The job will be submitted."
            add(f"Submit {values.get('name', 'the job')}", question, partial(ask.submit, values))

    async def _postpone(self, ref: str, when: str) -> object:
        deadline = (await self._ask.job(ref)).deadline
        present = None if deadline is None else datetime.fromisoformat(deadline).timestamp()
        return await self._ask.change(ref, deadline=moment_meant(when, present))

    def _button(self, label: str, question: str, deed: Deed) -> None:
        async def do() -> None:
            if await confirmed(f"{question} Do it?", label):
                await acted(deed(), "Done.")

        ui.button(label, on_click=do).props("outline dense no-caps size=sm padding='2px 8px'")
