"""What must stand in a store before a server works on it: epoch, settings, tokens, and which nodes are ours."""

from __future__ import annotations

import getpass
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tenuto.cli.home import secret_in
from tenuto.cli.local_nodes import local_nodes, local_shape, nodes_left_behind
from tenuto.cli.plan import Plan
from tenuto.engines.keeper import LocalNode
from tenuto.server.auth import JOIN, USER, digest_of
from tenuto.settings import Settings
from tenuto.store.base import Store, Token, Tx


@dataclass(frozen=True, slots=True)
class Beginning:
    """What follows from the plan and from what was there before."""

    settings: Settings
    local: list[LocalNode]
    new_token: str | None
    """The user's secret, if it was made just now."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each setting comes from that is no default."""


def begin(store: Store, plan: Plan) -> Beginning:
    """Write it down, all in one act; a second start with the same plan changes nothing."""
    token, new = secret_in(plan.home.token)
    node_token, _ = secret_in(plan.home.node_token)
    now = time.time()

    def act(tx: Tx) -> tuple[Settings, dict[str, int | None], dict[str, str]]:
        if tx.meta("epoch") is None:
            tx.set_meta("epoch", now)
        _add_token(tx, Token(digest=digest_of(token), user=_user(), kind=USER, created_at=now))
        _add_token(tx, Token(digest=digest_of(node_token), user="nodes", kind=JOIN, created_at=now))
        tx.set_meta("draining", plan.draining)
        origins = plan.origins(tx.meta("scheduling"))
        settings, shape = _settings(tx, plan), local_shape(plan.local, tx.meta("local"))
        if not plan.draining:
            tx.set_meta("local", shape)
        return settings, shape, origins

    settings, shape, origins = store.write(act)
    return Beginning(settings, _local(plan, shape), token if new else None, origins)


def _local(plan: Plan, shape: Mapping[str, int | None]) -> list[LocalNode]:
    return nodes_left_behind(plan.home, shape) if plan.draining else local_nodes(plan.home, shape)


def _settings(tx: Tx, plan: Plan) -> Settings:
    """The settings in force; those of a policy itself stay as long as the policy does."""
    stored: dict[str, Any] = tx.meta("scheduling") or {}
    settings = plan.settings(stored)
    in_force = asdict(settings.scheduling)
    if "settings" in stored and stored.get("policy") == in_force["policy"]:
        in_force["settings"] = stored["settings"]
    if in_force != stored:
        tx.set_meta("scheduling", in_force)
    checkpoints = settings.store.checkpoints or str(plan.home.checkpoints)
    return replace(settings, store=replace(settings.store, checkpoints=checkpoints))


def _add_token(tx: Tx, token: Token) -> None:
    if tx.token(token.digest) is None:
        tx.add_token(token)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "user"
