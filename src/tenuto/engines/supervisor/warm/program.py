"""The worker's start in a shim that was forked from a warm server: a fork that does not exec.

Standard library only: it runs in the job's own Python.
"""

from __future__ import annotations

import os

from tenuto.engines.supervisor.shim.program import Program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Born(BaseException):
    """Raised in the new worker, so that it leaves everything behind that its shim was doing."""

    def __init__(self, program: Program, parent: int, output: int, tell: int) -> None:
        super().__init__()
        self.program = program
        self.parent = parent
        """The shim's pid."""
        self.output = output
        """A descriptor of its own for what it prints."""
        self.tell = tell
        """Closed when the worker has begun; or told there why it cannot."""
        self.call: dict[str, Any] = {}
        """A `PythonCall` as JSON."""
        self.keep: frozenset[int] = frozenset()
        """Descriptors that belong to what was imported."""


class WarmProgram(Program):
    """A Python call whose interpreter is here already."""

    def _fork(self, output: int, tell: int) -> int:
        parent, own_output = os.getpid(), os.dup(output)
        pid = os.fork()
        if pid == 0:
            self._be_born(parent, own_output, tell)
        os.close(own_output)
        return pid

    def _be_born(self, parent: int, output: int, tell: int) -> NoReturn:
        raise Born(self, parent, output, tell)
