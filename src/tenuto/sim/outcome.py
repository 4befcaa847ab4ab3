"""What a replay produced: one row per job and one row per scheduling event. Everything else is derived."""

from __future__ import annotations

from dataclasses import dataclass, field

from tenuto.model.columns import Flags, Floats, Ints


@dataclass(frozen=True)
class Events:
    """The scheduling events of a replay, in order of time."""

    time: Floats
    efficiency: Floats
    """Sum over running jobs of speed relative to one slot, divided by the cluster's slots."""
    busy: Ints
    """Slots allocated after the event."""
    running: Ints
    waiting: Ints
    layouts: tuple[Ints, ...] | None = None
    """For each event the job (its position in the file) on every slot, -1 where idle; only if asked for."""


@dataclass(frozen=True)
class Outcome:
    """Columns in the order of the trace. Times that never came are NaN."""

    admitted: Flags
    """False for jobs refused at arrival."""
    started: Floats
    finished: Floats
    met: Flags
    """Whether the job counts as having met its deadline; always False for best-effort jobs."""
    promised: Floats
    """The finish that admission promised; NaN where no promise was given."""
    last_size: Ints
    """Slots held when the job ended (or last ran)."""
    changes: Ints
    """How often the job was started, resized, moved or stopped while unfinished."""
    preempted: Ints
    """How often the job lost all its slots before it had finished."""
    reason: tuple[str, ...]
    """For each job a code: why it was declined, or an empty string."""
    events: Events
    cpu_s: float = field(default=0.0, compare=False)
    """CPU seconds of the loop, without imports and compilation."""
    compile_s: float = field(default=0.0, compare=False)
    """CPU seconds of loading and compiling kernels."""
