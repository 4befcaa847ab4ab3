"""The console of all commands: what is printed as text cannot command the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console as RichConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment

from tenuto.terminal_text import safe_text


class Console(RichConsole):
    """Escapes control characters in text; styles and cursor movements of its own are not text and stay."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render as rich does, with the text of every segment made safe."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=safe_text(segment.text))
