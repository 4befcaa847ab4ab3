"""tenuto: the whole platform on this machine, with a node of four CPU slots; sizes are pinned over its API."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from rescaling.contender import PATIENCE, has
from rescaling.timeline import latest, read_steps

_SLOTS = 4


class Tenuto:
    name = "tenuto"

    def missing(self) -> str:
        return "" if has("torch, safetensors, tenuto") else "torch or safetensors is not installed"

    def start(self, log: Path) -> None:
        from tenuto.cli.demo_stage import platform

        self._log = log
        self._stack = ExitStack()
        self._client = self._stack.enter_context(platform(nodes=1, slots=_SLOTS))
        here = Path(__file__).parent
        job = {
            "name": "rescale",
            "strategy": "allreduce",
            "run": f"{shlex.quote(sys.executable)} {shlex.quote(str(here / 'train_with_tenuto.py'))}",
            "workers": {"min": 1, "max": _SLOTS},
            "total": {"steps": 1_000_000},
            "curve": {1: 1, 2: 1.5, 4: 2},
            "env": {
                "OMP_NUM_THREADS": "1",
                "GLOO_SOCKET_IFNAME": "lo",
                "RESCALE_LOG": str(log),
                "PYTHONPATH": f"{here.parent}:{os.environ.get('PYTHONPATH', '')}",
            },
        }
        self._await_node()
        self._job = self._client.submit(job)["id"]
        self.resize(1)

    def _await_node(self) -> None:
        give_up = time.monotonic() + PATIENCE
        while not self._client.cluster()["slots"]["total"]:
            assert time.monotonic() < give_up, "no node joined"
            time.sleep(0.05)

    def resize(self, workers: int) -> None:
        self._client.scale(self._job, {"workers": workers})

    def kill_one(self) -> None:
        steps = read_steps(self._log)
        last = max(latest(steps, steps[-1].world), key=lambda step: step.rank)
        os.kill(last.pid, signal.SIGKILL)

    def stop(self) -> None:
        self._stack.close()
