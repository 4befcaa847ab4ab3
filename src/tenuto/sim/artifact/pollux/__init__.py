"""Pollux as the reference simulates it: applications by measurement, agents that fit models, a genetic search."""

from __future__ import annotations

from tenuto.sim.artifact.pollux.loop import replay_pollux

__all__ = ["replay_pollux"]
