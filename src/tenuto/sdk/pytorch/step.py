"""The step under way, as the model, the optimizer and the session see it together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    pass


@dataclass(slots=True)
class Step:
    """Mutable, and there is one of it: it changes a dozen times in each step."""

    is_under_way: bool = False
    """Between `next(batches)` and the following one."""
    is_last_piece: bool = True
    """Gradients are exchanged, and the optimizer steps, with the last piece of a share only."""
    is_split: bool = False
    """Whether the share has several pieces."""
    weight: float = 1.0
    """Of this piece's gradients in the mean over the workers."""
    is_aborted: bool = False
    """Somebody was lost. The step is void and will be given again; nothing may be changed by it."""
    was_updated: bool = False
    """Whether the optimizer has stepped."""
    on_meeting: Callable[[], None] = _nothing
    """Called when nothing is left but to wait for the others."""
    on_met: Callable[[], None] = _nothing

    @property
    def may_update(self) -> bool:
        """Whether the optimizer and its companions act now."""
        return self.is_last_piece and not self.is_aborted

    def begin(self, weight: float, *, is_last: bool, is_first: bool) -> None:
        """Another piece."""
        self.is_under_way = True
        self.weight = weight
        self.is_last_piece = is_last
        self.is_split = not (is_first and is_last)
        self.was_updated = False

    def abort(self) -> None:
        """From any thread."""
        self.is_aborted = True
