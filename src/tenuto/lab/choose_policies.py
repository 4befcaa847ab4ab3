"""Which policies a command is about: names, aliases, files, or all; and how they are set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tenuto.errors import InputInvalid
from tenuto.plugins import SUFFIX, all_policies, lack, policy_called
from tenuto.policy.base import Policy
from tenuto.sim import artifact
from tenuto.suggest import did_you_mean
from tenuto.tuning import tuned

ALL = "all"


@dataclass(frozen=True, slots=True)
class Choice:
    """The policies to use, each once."""

    policies: tuple[Policy, ...]
    settings: Mapping[str, Mapping[str, object]]
    """What was set differently, by policy."""
    remarks: tuple[str, ...]
    """What the user should know: who was left out of `all`, and why."""

    @property
    def changes(self) -> str:
        """What was set differently, in one line."""
        return ", ".join(
            f"{policy}.{name}={value}"
            for policy, settings in self.settings.items()
            for name, value in settings.items()
        )


def choose(text: str, settings: Sequence[str] = (), *, compat: bool = False) -> Choice:
    """Find the policies that a user names, and set them as wished."""
    remarks: tuple[str, ...] = ()
    names = list(dict.fromkeys(part.strip() for part in text.split(",")))
    usable: tuple[Policy, ...] = ()
    if ALL in names:
        usable, remarks = _all(compat=compat)
    policies = _named([name for name in names if name != ALL], beside=usable)
    if settings and compat:
        raise InputInvalid(
            "--compat replays the reference with its own settings", remedy="Leave --set or --compat out"
        )
    wishes = _wishes(settings, policies)
    chosen = tuple(tuned(policy, wishes.get(policy.name, {})) for policy in policies)
    changed = {
        policy.name: MappingProxyType({name: policy.settings[name] for name in wishes[policy.name]})
        for policy in chosen
        if policy.name in wishes
    }
    return Choice(chosen, MappingProxyType(changed), remarks)


def _all(*, compat: bool) -> tuple[tuple[Policy, ...], tuple[str, ...]]:
    """Every policy that can be used, and a word about the others."""
    known = all_policies().values()
    policies = tuple(policy for policy in known if not compat or policy.name in artifact.POLICIES)
    problems = {policy.name: problem for policy in policies if (problem := lack(policy))}
    usable = tuple(policy for policy in policies if policy.name not in problems)
    return usable, tuple(f"Left out: {problem}." for problem in problems.values())


def _named(names: Sequence[str], *, beside: Sequence[Policy]) -> tuple[Policy, ...]:
    """Those that are there already, and the named ones, each once."""
    found = {policy.name: policy for policy in beside}
    for name in names:
        policy = policy_called(name)
        if problem := lack(policy):
            raise problem
        if name.endswith(SUFFIX) and policy.name in found:
            raise InputInvalid(
                f"{name} is a second policy of the name {policy.name}", remedy="Rename one of them"
            )
        found[policy.name] = policy
    return tuple(found.values())


def _wishes(settings: Sequence[str], policies: Sequence[Policy]) -> dict[str, dict[str, object]]:
    """Sort what is to be set by policy."""
    wishes: dict[str, dict[str, object]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        owner, dot, name = name.strip().rpartition(".")
        if not equals or not name:
            raise InputInvalid(
                f"--set {setting!r} sets nothing", remedy="Write --set setting=value, or policy.setting=value"
            )
        if not dot and len(policies) > 1:
            raise InputInvalid(
                f"--set {setting!r} does not say of which policy",
                remedy=f"Write e.g. --set {policies[0].name}.{setting}",
            )
        policy = _owner(owner, policies) if dot else policies[0]
        wishes.setdefault(policy.name, {})[name] = value.strip()
    return wishes


def _owner(name: str, policies: Sequence[Policy]) -> Policy:
    for policy in policies:
        if name == policy.name or name in policy.aliases:
            return policy
    names = [policy.name for policy in policies]
    raise InputInvalid(
        f"policy {name!r} is to be set, but not to be replayed",
        remedy=did_you_mean(name, names) + f"To be replayed are {', '.join(names)}",
    )
