"""The policy in force and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter

from tenuto.errors import InputInvalid
from tenuto.model.event import Event
from tenuto.model.rules import Placement
from tenuto.server import breaches
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.platform import Here, Who
from tenuto.server.scene import Rule, View, foresee_then_write, view
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.wire.asks import PolicyIn, SchedulingIn
from tenuto.wire.problems import validated
from tenuto.wire.replies import PolicyOut

if TYPE_CHECKING:
    from tenuto.forecast.changes import Breach

router = APIRouter(prefix="/policy", tags=["policy"], route_class=BodyRoute)


@router.get("", response_model=PolicyOut)
def show_policy(here: Here) -> PolicyOut:
    """Show the policy in force, its settings, and which others there are."""
    return _shown(here.store.read(lambda tx: view(here, tx)))


@router.put("", response_model=PolicyOut)
def set_policy(here: Here, who: Who, wish: PolicyIn) -> PolicyOut:
    """Put another policy or other settings in force. Promises that would break are named, and it takes force."""
    asker = Asker(who, here.clock())

    def foresee(seen: View) -> tuple[Rule, Rule, Sequence[Breach]]:
        rule = wished(seen.rule, wish)
        broken = breaches.foreseen(seen, seen.with_rule(rule))
        if not wish.force:
            breaches.refuse(broken)
        return seen.rule, rule, broken

    def act(tx: Tx, found: tuple[Rule, Rule, Sequence[Breach]]) -> Rule:
        before, rule, broken = found
        _write(tx, asker, before, rule)
        breaches.note(tx, asker, broken, f"the policy was set to {rule.scheduling.policy}")
        return rule

    rule = foresee_then_write(here, None, foresee, act)
    return _shown(here.store.read(lambda tx: view(here, tx)).with_rule(rule))


def wished(rule: Rule, wish: PolicyIn) -> Rule:
    """The rules as they are wished; a setting is one of rounds or one of the policy's own."""
    name = rule.scheduling.policy if wish.name is None else _name(wish.name)
    own = {key: value for key, value in wish.settings.items() if key not in SchedulingIn.model_fields}
    kept = rule.tuning if name == rule.scheduling.policy else {}
    values = _general({key: value for key, value in wish.settings.items() if key not in own})
    new = Rule(replace(rule.scheduling, policy=name, **values), {**kept, **own})
    try:
        policy = new.policy()
    except InputInvalid as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field="settings" if own else "name") from None
    # An alias is written down as the name itself; the path of a file stays a path.
    return new if wish.name is None else replace(new, scheduling=replace(new.scheduling, policy=policy.name))


def _name(wished: str) -> str:
    if wished.endswith(".py") or "/" in wished:
        raise InputInvalid(
            "a policy in a file cannot be chosen from afar",
            remedy="Start the platform with it: tenuto up --policy FILE.py",
            field="name",
        )
    return wished


def _general(settings: dict[str, Any]) -> dict[str, Any]:
    try:
        values = validated(SchedulingIn, settings).model_dump(exclude_none=True)
    except InputInvalid as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field=f"settings.{error.field}") from None
    if "placement" in values:
        values["placement"] = Placement(values["placement"])
    return values


def _write(tx: Tx, asker: Asker, before: Rule, after: Rule) -> None:
    old, new = before.to_json(), after.to_json()
    if tx.meta("scheduling") == new:
        return
    tx.set_meta("scheduling", new)
    changed = {key: [old[key], new[key]] for key in new if old[key] != new[key]}
    tx.add_event(
        Event(
            kind="policy",
            at=asker.now,
            actor=asker.user,
            before=old["policy"],
            after=new["policy"],
            reason=f"{asker.user} asked for it",
            data=changed,
        )
    )


def _shown(seen: View) -> PolicyOut:
    from tenuto.plugins import all_policies

    policy, charge = seen.rule.policy(), seen.charge
    general = seen.rule.to_json()
    tuning = general.pop("settings")
    del general["policy"]
    return PolicyOut(
        name=policy.name,
        summary=policy.summary,
        promises=policy.promises,
        settings=general | dict(policy.settings) | tuning,
        known=sorted(all_policies()),
        rescale_cost=charge.seconds,
        rescale_cost_from=charge.why,
    )
