"""How the members of a group agree on the step after which they go over: without an operation per step.

Each acknowledges that it knows of something newer, and looks at the group's store after every step from then on. When
all have, the first member names the end of the step that it is about to begin. It does so before it takes part in that
step, and nobody can finish the step without it: so everybody finds the note at that step's end.
"""

from __future__ import annotations

import contextlib

from tenuto.sdk.pytorch.group import Group, GroupBroken, communicating

_NOTE, _HERE = "switch", "over"
_PATIENCE = 2.0
"""Seconds; a member that hangs in the last step is found by its supervisor."""


class Agreement:
    """On one member, for one generation."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._acknowledged: set[str] = set()
        self._at: int | None = None

    def is_reached(self, wanted: str, step: int) -> bool:
        """Whether all go over here, after so many steps. To be asked after each step while something is wanted."""
        if self._group.world == 1:
            return True
        with communicating():
            if wanted not in self._acknowledged:
                self._acknowledged.add(wanted)
                self._group.store.add(f"ack/{wanted}", 1)
            if self._at is None:
                self._at = self._name_it(wanted, step) if self._group.rank == 0 else self._look()
        return self._at is not None and step >= self._at

    def wait_for_all(self) -> None:
        """Until everybody is here: who cut its connections now could take the last update from who is still in it.

        Whoever is gone was here, or is lost; in either case there is nothing to wait for.
        """
        if self._group.world == 1:
            return
        with contextlib.suppress(GroupBroken), communicating():
            store = self._group.store
            store.add(_HERE, 1)
            self._group.wait_until(lambda: store.add(_HERE, 0) >= self._group.world, _PATIENCE)

    def _name_it(self, wanted: str, step: int) -> int | None:
        store = self._group.store
        if store.add(f"ack/{wanted}", 0) < self._group.world:
            return None
        store.set(_NOTE, str(step + 1))
        store.get(_NOTE)  # now it is there, not only on its way
        return step + 1

    def _look(self) -> int | None:
        store = self._group.store
        return int(store.get(_NOTE)) if store.check([_NOTE]) else None
