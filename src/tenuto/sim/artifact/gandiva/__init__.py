"""Gandiva as the reference plays it: jobs of one size share sets of nodes and take turns there."""

from __future__ import annotations

from tenuto.sim.artifact.gandiva.replay import replay_gandiva

__all__ = ["replay_gandiva"]
