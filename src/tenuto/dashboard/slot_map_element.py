"""The map of nodes and slots as an element of a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nicegui.element import Element


class SlotMap(Element, component="assets/slot_map.js"):
    """Drawn in the browser from columns (`slot_map.picture`); hovering tells who is there, a click goes there."""

    def __init__(self) -> None:
        super().__init__()
        self._props["told"] = ""

    def show(self, picture: Mapping[str, Any]) -> None:
        """Draw it anew where it has changed."""
        # As text: thousands of cells would be wrapped one by one, to be watched for changes that never come.
        told = json.dumps(picture, ensure_ascii=False, separators=(",", ":"))
        if self._props["told"] != told:
            self._props["told"] = told
            self.update()
