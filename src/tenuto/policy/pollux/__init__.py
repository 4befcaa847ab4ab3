"""Pollux without its batches: sizes that maximise a fair mean of all speedups."""

from __future__ import annotations

from tenuto.policy.pollux.policy import POLLUX, Pollux

__all__ = ["POLLUX", "Pollux"]
