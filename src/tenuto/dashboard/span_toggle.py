"""Buttons for how long a time charts show."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from tenuto.dashboard.over_time import BY_LABEL, SPANS, Span


def span_toggle(chosen: Span, choose: Callable[[Span], Awaitable[None]]) -> None:
    """One button for each span."""

    async def changed(event: ValueChangeEventArguments[str]) -> None:
        await choose(BY_LABEL[event.value])

    labels = [span.label for span in SPANS]
    ui.toggle(labels, value=chosen.label, on_change=changed).props(
        'unelevated no-caps size=sm padding="2px 10px" aria-label="How long"'
    )
