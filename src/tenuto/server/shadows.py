"""Policies that decide along without acting: which ones, and what they would have done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query, Request

from tenuto.errors import InputInvalid
from tenuto.forecast.shadow import KEY, MOST, WINDOW, Shadow, Shown
from tenuto.model.event import Event
from tenuto.server.history import moment_behind
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.paging import Text
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.policy import wished
from tenuto.server.scene import Rule
from tenuto.server.show import moment
from tenuto.store.base import Tx
from tenuto.wire.asks import PolicyIn, SchedulingIn
from tenuto.wire.quantities import rfc3339
from tenuto.wire.shadows import OtherwiseOut, ShadowIn, ShadowOut, ShadowsIn, ShadowsOut, TallyOut

if TYPE_CHECKING:  # they load compiled kernels, which nobody shall wait for while nobody decides along
    from tenuto.forecast.comparison import Difference

router = APIRouter(prefix="/policy/shadows", tags=["policy"], route_class=BodyRoute)

MOST_DIFFERENCES = 20
"""Jobs of each policy that are told of."""
Since = Annotated[
    Text,
    Query(description="Jobs that arrived from then on: `7d` for so long ago, which is the most, or a date."),
]


@router.get("", response_model=ShadowsOut)
def show_shadows(here: Here, request: Request, since: Since = "7d") -> ShadowsOut:
    """Tell which policies decide along, and what they would have done beside what was done."""
    return _report(here, request.app.state.shadows, moment_behind(since, here.clock(), "since"))


@router.put("", response_model=ShadowsOut)
def set_shadows(here: Here, who: Who, request: Request, wish: ShadowsIn) -> ShadowsOut:
    """Let these policies decide along from now on, and no others; an empty list ends it."""
    now = here.clock()
    rule = here.store.read(lambda tx: Rule.written(tx.meta("scheduling"), here.settings.scheduling))
    shadows = _checked([_shadow(rule, index, one) for index, one in enumerate(wish.policies)])
    after = [shadow.to_json() for shadow in shadows]

    def act(tx: Tx) -> None:
        before = tx.meta(KEY) or []
        if after == before:
            return
        tx.set_meta(KEY, after or None)
        reason = f"{who} asked for it"
        tx.add_event(
            Event(
                kind="shadows", at=now, actor=who, before=_names(before), after=_names(after), reason=reason
            )
        )

    here.store.write(act)
    return _report(here, request.app.state.shadows, now - WINDOW)


def _names(written: Sequence[dict[str, Any]]) -> str:
    return ",".join(row["policy"] for row in written)


def _shadow(rule: Rule, index: int, one: ShadowIn) -> Shadow:
    """A policy as it is wished, checked as if it were to be put in force."""
    try:
        # Whatever the policy in force is set to is its own affair, also if it is the one that decides along.
        own = Rule(rule.scheduling, {})
        new = wished(own, PolicyIn(name=one.name, settings=one.settings))
    except InputInvalid as error:
        field = f"policies.{index}.{error.field}" if error.field else f"policies.{index}"
        raise InputInvalid(error.problem, remedy=error.remedy, field=field) from None
    written = new.to_json()
    general = {key: written[key] for key in one.settings if key in SchedulingIn.model_fields}
    return Shadow(new.scheduling.policy, new.tuning, general)


def _checked(shadows: Sequence[Shadow]) -> Sequence[Shadow]:
    if len(shadows) > MOST:
        raise InputInvalid(
            f"{len(shadows)} policies are too many to decide along",
            remedy=f"Name at most {MOST}",
            field="policies",
        )
    names = [shadow.policy for shadow in shadows]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputInvalid(f"{twice} is named twice", remedy="Name each policy once", field="policies")
    return shadows


def _report(here: Platform, shown: Callable[[], Sequence[Shown]], since: float) -> ShadowsOut:
    now = here.clock()
    since = max(since, now - WINDOW)
    wanted, in_force = here.store.read(
        lambda tx: (
            Shadow.written(tx.meta(KEY)),
            Rule.written(tx.meta("scheduling"), here.settings.scheduling).scheduling.policy,
        )
    )
    known = {one.shadow.policy: one for one in shown() if one.shadow in wanted}
    found = [known.get(shadow.policy, Shown(shadow)) for shadow in wanted]
    newest = max((one for one in found if one.past is not None), key=lambda one: one.at, default=None)
    return ShadowsOut(
        since=rfc3339(since),
        until=rfc3339(now),
        in_force=in_force,
        really=None if newest is None else _really(newest, since),
        shadows=[_told(one, since) for one in found],
        most=MOST,
        guesses=dict(Counter(newest.guessed if newest else {})),
        left_out=dict(Counter(newest.left_out if newest else {})),
        more=newest is not None and newest.more,
    )


def _really(shown: Shown, since: float) -> TallyOut:
    from tenuto.forecast import comparison

    assert shown.past is not None and shown.world is not None
    fates = [comparison.really(job) for job in shown.past.jobs if job.arrived >= since]
    usage = comparison.real_usage(shown.past.jobs, shown.world.usage)
    return TallyOut.model_validate(comparison.tally(fates, usage, since, shown.at), from_attributes=True)


def _told(shown: Shown, since: float) -> ShadowOut:
    tally, differences = None, []
    if shown.past is not None and shown.world is not None:
        from tenuto.forecast import comparison

        pairs = [
            (comparison.really(job), comparison.imagined(job, row, shown.world))
            for row, job in enumerate(shown.past.jobs)
            if job.arrived >= since
        ]
        counted = comparison.tally([other for _, other in pairs], shown.world.usage, since, shown.at)
        tally = TallyOut.model_validate(counted, from_attributes=True)
        telling = comparison.differences(pairs, shown.at, MOST_DIFFERENCES)
        differences = [_difference(one) for one in telling]
    return ShadowOut(
        policy=shown.shadow.policy,
        settings={**shown.shadow.general, **shown.shadow.settings},
        as_of=moment(shown.at or None),
        problem=shown.problem,
        cpu_seconds=shown.cpu_seconds,
        tally=tally,
        differences=differences,
    )


def _difference(one: Difference) -> OtherwiseOut:
    from tenuto.forecast.comparison import in_words

    return OtherwiseOut(
        job=one.job.id,
        name=one.job.name,
        kind=one.kind.value,
        seconds=one.seconds,
        slots=one.slots,
        really=one.really,
        text=in_words(one),
    )
