"""Where a training script finds itself: alone, in a group of fixed size, or linked to a supervisor.

The script is the same in all three; only the environment differs, and it is read here and nowhere else.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.wire import env


class Kind(Enum):
    """Who says who trains together."""

    ALONE = "alone"
    """Nobody: `python train.py`."""
    STATIC = "static"
    """The environment, for the life of the process: torchrun, or tenuto's strategy `command`."""
    LINKED = "linked"
    """The supervisor, anew in each generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One worker's surroundings."""

    kind: Kind
    worker: str
    """Its id as text."""
    node: str
    host: str = ""
    """Where the others reach it; empty if nobody has said."""
    job: str = ""
    rank: int = 0
    """At birth; in a linked job it changes with the generations."""
    world: int = 1
    local_rank: int = 0
    generation: int = 1
    master_addr: str = "127.0.0.1"
    master_port: int = 0
    link: Path | None = None
    bell: str | None = None
    checkpoint_dir: Path | None = None
    checkpoint_every: int | None = None
    log_dir: Path | None = None
    report: Path | None = None
    steps: int | None = None
    global_batch: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def number(self) -> str:
        """Which of its node's workers it is. Two that live at once may have been born with the same rank."""
        return f"{self.generation}.{self.rank}" if self.kind is Kind.LINKED else str(self.rank)


def find_place(environ: Mapping[str, str] = os.environ) -> Place:
    """Read the environment of this process."""
    world = _number(environ, env.WORLD_SIZE) or 1
    rank = _rank(environ)
    node = environ.get(env.NODE) or os.uname().nodename
    job = environ.get(env.JOB_ID, "")
    link = _path(environ, env.LINK)
    return Place(
        kind=_kind(link, world, environ),
        worker=environ.get(env.WORKER) or f"{job or 'alone'}.1.worker.{rank}",
        node=node,
        host=environ.get(env.HOST, ""),
        job=job,
        rank=rank,
        world=world,
        local_rank=_number(environ, env.LOCAL_RANK) or 0,
        generation=_number(environ, env.GENERATION) or 1,
        master_addr=environ.get(env.MASTER_ADDR) or "127.0.0.1",
        master_port=_number(environ, env.MASTER_PORT) or 0,
        link=link,
        bell=environ.get(env.BELL) or None,
        checkpoint_dir=_path(environ, env.CHECKPOINT_DIR),
        checkpoint_every=_number(environ, env.CHECKPOINT_EVERY) or None,
        log_dir=_path(environ, env.LOG_DIR),
        report=_path(environ, env.REPORT),
        steps=_number(environ, env.STEPS),
        global_batch=_number(environ, env.GLOBAL_BATCH),
        params=_params(environ),
    )


def _kind(link: Path | None, world: int, environ: Mapping[str, str]) -> Kind:
    if link is not None:
        return Kind.LINKED
    # A group of one needs nobody to meet; whoever set only WORLD_SIZE meant something else by it.
    return Kind.STATIC if world > 1 and environ.get(env.MASTER_ADDR) else Kind.ALONE


def _rank(environ: Mapping[str, str]) -> int:
    """A linked worker is told none, since it changes; the one it was born with is the end of its id."""
    born_with = environ.get(env.WORKER, "").rpartition(".")[2]
    return _number(environ, env.RANK) or (int(born_with) if born_with.isdecimal() else 0)


def _path(environ: Mapping[str, str], name: str) -> Path | None:
    return Path(environ[name]) if environ.get(name) else None


def _number(environ: Mapping[str, str], name: str) -> int | None:
    """A whole number, not below nought; None if there is none."""
    text = environ.get(name, "")
    if not text:
        return None
    try:
        number = int(float(text))  # a total in steps may have been written as 1e6
    except (ValueError, OverflowError):
        number = -1
    if number < 0:
        raise InputInvalid(
            f"the environment says {name}={text}, which is no whole number",
            remedy="Set it to a number such as 3, or leave it out",
            field=name,
        )
    return number


def _params(environ: Mapping[str, str]) -> Mapping[str, Any]:
    text = environ.get(env.PARAMS, "")
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputInvalid(
            f"the environment's {env.PARAMS} is no JSON object",
            remedy='Write it such as {"lr": 0.1}, or leave it out',
            field=env.PARAMS,
        )
    return found
