"""What a worker tells beyond its step: one JSON object a line, in the order of `seq`. Standard library only.

Every line has `seq` (0, 1, 2 … for each worker), `kind`, `at` (Unix seconds), `generation` and `step`; the rest
depends on the kind. They are spooled in LINK/steps, brought to the server by the supervisor in their order, and stored
once: the server says which `seq` it wants next. `dropped` is how many were left out so far for want of room, if any.
"""

from __future__ import annotations

STEP = "step"
"""Every `report_every` steps: `seconds` (of one step, mean since the last record or the generation's first step; null
if there was no other), `samples` (of the whole job, so far), `samples_per_second` (rank 0 only), `world`, `rank`, and
the scalars that the user reported, under `values`: numbers, NaN among them."""
RESCALE = "rescale"
"""A generation was joined, told by its rank 0 after its first step: `why`, `before`, `after` (workers), `lost`,
`source` (rank that gave state), `moved_bytes`, and milliseconds: `warm_up_ms` (of the newcomers, off the training
path), `agree_ms`, `form_ms`, `transfer_ms`, `first_step_ms`, `pause_ms` (last step before to first step after, minus a
normal step)."""
CHECKPOINT = "checkpoint"
"""`path`, `bytes`, `blocked_ms` (on the training thread), `written_ms`, `why` (`every`, `stop`, `finish`).
One that could not be written, or that was skipped since it is damaged, has a `problem` instead of the numbers."""
SUMMARY = "summary"
"""`run.finish` on rank 0: `samples`, `epochs`, `steps`, `generations`, `losses`, `each_once`, `sentence`, `export` (a
path)."""
LOSS = "loss"
"""Told by a supervisor: `worker`, `node`, `reason`, `exit_code`."""
HUNG = "hung"
"""Told by a supervisor: `worker`, `node`, `seconds`, `stack`."""
PROBLEM = "problem"
"""Told by a supervisor, once for each worker: `worker`, `node`, `problem` (which file cannot be used, and why)."""

EVENTS = (RESCALE, CHECKPOINT, SUMMARY, LOSS, HUNG, PROBLEM)
"""Kinds that become events of the job as well."""
