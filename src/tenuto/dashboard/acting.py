"""What a visitor does, and what comes of it: an error is told with its remedy and changes nothing on the page."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

from nicegui import ui

from tenuto.errors import TenutoError

T = TypeVar("T")


async def acted(doing: Awaitable[T], done: str = "") -> T | None:
    """Do something and say so; None if it was refused, which is said too."""
    try:
        result = await doing
    except TenutoError as error:
        tell_trouble(str(error))
        return None
    if done:
        ui.notify(done, type="positive")
    return result


def tell_trouble(sentence: str) -> None:
    """Something was refused, or went wrong."""
    ui.notify(sentence, type="negative", multi_line=True, close_button="OK", timeout=12_000)


async def confirmed(question: str, verb: str) -> bool:
    """Ask before something that cannot be taken back."""
    with ui.dialog() as dialog, ui.card():
        ui.label(question)
        with ui.row().classes("w-full justify-end"):
            ui.button("No", on_click=lambda: dialog.submit(False)).props("flat")
            ui.button(verb, on_click=lambda: dialog.submit(True)).props("color=negative")
    try:
        return bool(await dialog)
    finally:
        dialog.delete()
