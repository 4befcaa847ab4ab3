"""From a request to a stored job: what has to be looked up on the way, outside of any transaction."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

from starlette.concurrency import run_in_threadpool

from tenuto.errors import InputInvalid
from tenuto.forecast.measured import CURVES, Known, known_curve
from tenuto.forecast.rates import sizes_between
from tenuto.model.job import Job, JobSpec
from tenuto.server import wishes
from tenuto.server.find import job_called
from tenuto.server.platform import Platform
from tenuto.server.wishes import Asker, Edit, Submission
from tenuto.store.base import Keyed, Tx
from tenuto.wire.api import JobIn
from tenuto.wire.asks import JobEdit
from tenuto.wire.problems import validated
from tenuto.wire.spec_form import edited, form_of

LONGEST_KEY = 200


def submit(here: Platform, user: str, asked: JobIn, key: str | None, origin: str = "") -> Job:
    """Accept a job, once for each key."""
    now = here.clock()
    remembered = _keyed(user, key, asked, origin)
    if remembered is not None and (made := here.store.read(lambda tx: tx.keyed(remembered.key))) is not None:
        # The deadline of a repeated request may have passed meanwhile: it is not looked at again.
        return here.store.read(lambda tx: wishes.made_before(tx, made, remembered))
    spec, deadline = asked.to_spec(now)
    new = Submission(spec, deadline, curve_of(here, spec), remembered, origin)
    return here.store.write(lambda tx: wishes.add_job(tx, Asker(user, now), new))


async def submit_soon(here: Platform, user: str, asked: JobIn, key: str | None) -> Job:
    """The same without a thread that waits: most jobs need nothing but a place in the next commit."""
    now = here.clock()
    try:
        spec, deadline = asked.to_spec(now)
    except InputInvalid:  # unless it was accepted earlier
        return await run_in_threadpool(submit, here, user, asked, key)
    if not _is_told(spec):
        return await run_in_threadpool(submit, here, user, asked, key)
    new = Submission(spec, deadline, Known(dict(spec.curve), ""), _keyed(user, key, asked, ""))
    return await asyncio.wrap_future(here.store.begin(lambda tx: wishes.add_job(tx, Asker(user, now), new)))


def _is_told(spec: JobSpec) -> bool:
    """Whether a job's curve need not be looked up."""
    return not spec.profile and (bool(spec.curve) or not spec.auto)


def resubmit(here: Platform, user: str, ref: str, edit: dict[str, Any], key: str | None) -> Job:
    """Submit a job again under a new id, with some keys changed; a deadline such as +6h counts from now."""
    old = here.store.read(lambda tx: job_called(tx, ref))
    return submit(here, user, validated(JobIn, edited(form_of(old.spec), edit)), key, origin=old.id)


def edit_of(job: Job, asked: JobEdit, now: float) -> Edit:
    """A job's spec with the changes, checked as a whole."""
    given = asked.model_dump(exclude_unset=True)
    form = validated(JobIn, edited(form_of(job.spec), given))
    deadline = form.deadline_at(now) if "deadline" in given else job.deadline
    return Edit(frozenset(given), form.spec(), deadline)


def curve_of(here: Platform, spec: JobSpec) -> Known:
    """The curve as given, as its profile has it, or as earlier runs left it; empty if it is to be measured."""
    if spec.profile:
        return _of_profile(here, spec)
    if _is_told(spec):
        return Known(dict(spec.curve), "")
    return here.store.read(lambda tx: _left_behind(tx, spec)) or Known({}, "")


def _of_profile(here: Platform, spec: JobSpec) -> Known:
    from tenuto.forecast.profiles import resolve_curve  # reads files; few jobs need it

    def look(tx: Tx) -> tuple[Any, Known | None]:
        return tx.meta("profiles") or {}, _left_behind(tx, spec)

    stored, measured = here.store.read(look)
    try:
        return measured or Known(resolve_curve(spec, stored), f"profile {spec.profile}")
    except InputInvalid:
        if spec.auto:
            return Known({}, "")
        raise


def _left_behind(tx: Tx, spec: JobSpec) -> Known | None:
    """What earlier runs of such a job showed, if that is enough to reckon with."""
    stored = tx.meta(CURVES)
    if not stored:
        return None
    nodes = [node for node in tx.nodes() if spec.node in ("", node.name)]
    kinds = {slot.kind for node in nodes for slot in node.slots}
    within = sum(len(node.slots) for node in nodes)
    return known_curve(stored, spec, kinds, sizes_between(spec.min_workers, spec.max_workers, within))


def _keyed(user: str, key: str | None, asked: JobIn, origin: str) -> Keyed | None:
    if key is None:
        return None
    if not key.strip() or len(key) > LONGEST_KEY or not key.isprintable():
        raise InputInvalid(
            "the idempotency key cannot be used",
            remedy=f"Use 1 to {LONGEST_KEY} printable characters, such as a UUID",
            field="Idempotency-Key",
        )
    request = json.dumps([origin, asked.model_dump(mode="json")], sort_keys=True)
    fingerprint = hashlib.sha256(request.encode()).hexdigest()
    return Keyed(key=f"{user}/{key}", fingerprint=fingerprint, result="", at=0.0)
