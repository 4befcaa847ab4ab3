"""Platforms for stories of jobs that are not on slots of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.live.platform import Platform

from tenuto.model.node import Slot
from tenuto.settings import Sharing


def a_house(
    nodes: Mapping[str, int] | None = None, *, cpu_jobs: int = 1, sharing: Sharing | None = None, **more: Any
) -> Platform:
    """Nodes with CPU shares, under these settings."""
    here = Platform(nodes, **more)
    settings = replace(here.settings, nodes=replace(here.settings.nodes, cpu_jobs=cpu_jobs))
    here.settings = replace(settings, sharing=sharing or Sharing(settle=0.0))
    here.new_controller()
    here.settle()
    return here


def with_gpus(memory: float | None, *, sharing: Sharing | None = None, gpus: int = 1) -> Platform:
    """One node with GPUs, of whose memory so much is in use."""
    here = a_house({}, sharing=sharing)
    here.engine.add_node("노드-0", [Slot(device=str(number), kind="Test GPU") for number in range(gpus)])
    here.engine.use_memory("노드-0", *[memory] * gpus)
    here.settle()
    return here


def one_worker(here: Platform, name: str, *, share: bool = True, **more: Any) -> str:
    """A job for exactly one worker without a deadline."""
    return here.submit(name, min_workers=1, max_workers=1, curve={1: 1.0}, share=share, **more)


def a_lone_job(here: Platform, name: str = "정리", workers: int = 1, **more: Any) -> str:
    """A job without GPUs."""
    wanted = {"steps": None, "curve": {}, "cpu_only": True} | more
    return here.submit(name, min_workers=workers, max_workers=workers, **wanted)
