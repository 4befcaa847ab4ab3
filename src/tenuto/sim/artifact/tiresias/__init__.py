"""Tiresias as the reference plays it: who has had the least service runs first, in three queues."""

from __future__ import annotations

from tenuto.sim.artifact.tiresias.replay import replay_tiresias

__all__ = ["replay_tiresias"]
