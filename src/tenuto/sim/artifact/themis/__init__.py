"""The reference's Themis: jobs of fixed size take turns of one slot, those first who are farthest behind."""

from __future__ import annotations

from tenuto.sim.artifact.themis.replay import replay_themis

__all__ = ["replay_themis"]
