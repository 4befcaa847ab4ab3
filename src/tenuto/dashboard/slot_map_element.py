"""The map of nodes and slots as an element of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui.element import Element


class SlotMap(Element, component="assets/slot_map.js"):
    """Drawn in the browser from columns (`slot_map.picture`); hovering tells who is there, a click goes there."""

    def __init__(self) -> None:
        super().__init__()
        self._props["told"] = None

    def show(self, picture: Mapping[str, Any]) -> None:
        """Draw it anew where it has changed."""
        if self._props["told"] != picture:
            self._props["told"] = picture
            self.update()
