"""What the codes in an export of the past mean, for people. It imports nothing, so that asking costs nothing."""

from __future__ import annotations

REASONS = {
    "curve_from_run": "speed from the run, in proportion to the workers: no curve was known",
    "steps_from_run": "steps from the run: nobody knew how many there would be",
    "ended_early": "steps that were done: it failed, was lost or was cancelled",
    "pinned": "only the size that its owner fixed",
    "paused": "without the pauses that it had",
    "deadline_changed": "with the first of its deadlines",
    "waited_for_another": "arrives when the job that it waited for had ended",
    "never_ran": "never ran, and nobody knows how long it takes",
    "cancelled_before_start": "ended before it ever had slots",
    "waits_for_another": "was waiting for another job",
    "deadline_before_start": "its deadline had passed before its turn came",
    "takes_no_slots": "takes no slots, so that no policy decides about it",
    "fits_nowhere": "no size that it can have fits the cluster",
}
"""What the codes of guesses and of jobs that are left out mean."""
