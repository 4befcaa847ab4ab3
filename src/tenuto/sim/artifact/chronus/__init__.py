"""The reference's Chronus: time is cut into leases, and a job with a deadline is promised a number of them."""

from __future__ import annotations

from tenuto.sim.artifact.chronus.replay import replay_chronus, replay_chronus_greedily

__all__ = ["replay_chronus", "replay_chronus_greedily"]
