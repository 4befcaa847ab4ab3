"""The reference simulator, reproduced decision by decision with its quirks: what `--compat` replays with.

It has its own loops and its own clock. Nothing but the command line knows of it.
"""

from __future__ import annotations

from tenuto.sim.artifact.order import Order, Revision
from tenuto.sim.artifact.replay import POLICIES, Policy, replay
from tenuto.sim.artifact.warm_up import warm_up

__all__ = ["POLICIES", "Order", "Policy", "Revision", "replay", "warm_up"]
