"""The answer to a job that asks for no GPU: it needs no round, only a place beside a node's slots."""

from __future__ import annotations

from tenuto.model.job import Contract, JobSpec, Reply

NO_SLOT_ASKED = "no_slot_asked"
"""Why nothing is promised to a job without GPUs."""
TOO_FEW_PLACES = "too_few_cpu_places"
"""Why it can never start with the nodes and settings of today."""


def answer_without_gpu(spec: JobSpec, places: int, now: float) -> Contract:
    """What such a job is told where there are so many places on the nodes that it may use, taken or not."""
    need = spec.min_workers
    if need <= places:
        message = "queued: asks for no GPU, runs beside the slots; nothing is promised"
        return Contract(reply=Reply.QUEUED, why=NO_SLOT_ASKED, message=message, answered_at=now)
    wanted = "1 place" if need == 1 else f"{need} places"
    where = f"node {spec.node} has" if spec.node else "there are"
    problem = f"needs {wanted} without a GPU, {where} {places} (nodes.cpu_jobs)"
    message = f"unschedulable: {problem}; asked again when nodes change"
    return Contract(reply=Reply.UNSCHEDULABLE, why=TOO_FEW_PLACES, message=message, answered_at=now)
