"""Whom the properties are tested on: every built-in policy, and the one that `TENUTO_POLICY` names, if any."""

from __future__ import annotations

import os

from tenuto.plugins import policy_called
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES as BUILT_IN


def _judged() -> dict[str, Policy]:
    named = os.environ.get("TENUTO_POLICY", "")
    own = [policy_called(named)] if named else []
    return {**BUILT_IN, **{policy.name: policy for policy in own}}


POLICIES = _judged()
