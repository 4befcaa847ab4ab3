"""torchrun: one agent for each worker, as if each were a node of its own."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil

from rescaling.contender import Processes, a_free_port, has


class Torchrun:
    name = "torchrun"

    def missing(self) -> str:
        return "" if has("torch") else "torch is not installed"

    def start(self, log: Path) -> None:
        self._processes = Processes(log)
        self._endpoint = f"127.0.0.1:{a_free_port()}"
        self.resize(1)

    def resize(self, workers: int) -> None:
        running = self._processes.running
        while len(running) > workers:
            self._processes.end(running[-1])
        while len(running) < workers:
            self._processes.start(
                *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "1:8", "--nproc-per-node", "1"),
                *("--rdzv-backend", "c10d", "--rdzv-endpoint", self._endpoint, "--rdzv-id", "rescale"),
                *("--rdzv-conf", "last_call_timeout=1", "--max-restarts", "100", "--monitor-interval", "0.1"),
                *("--local-addr", "127.0.0.1"),
                str(Path(__file__).with_name("train_with_torchrun.py")),
                TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1",
            )

    def kill_one(self) -> None:
        agent = psutil.Process(self._processes.running[-1].pid)
        os.kill(agent.children()[0].pid, signal.SIGKILL)  # its agent starts it again

    def stop(self) -> None:
        self._processes.kill_all()
