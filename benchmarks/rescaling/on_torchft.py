"""torchft: one replica for each worker, and a lighthouse."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from rescaling.contender import Processes, a_free_port, has


class Torchft:
    name = "torchft"

    def missing(self) -> str:
        return "" if has("torchft") else "torchft is not installed"

    def start(self, log: Path) -> None:
        self._processes = Processes(log)
        self._replicas: list[subprocess.Popen[bytes]] = []
        port = a_free_port()
        self._address = f"http://127.0.0.1:{port}"
        self._processes.start(
            str(Path(sys.executable).with_name("torchft_lighthouse")),
            *("--bind", f"127.0.0.1:{port}", "--min_replicas", "1", "--join_timeout_ms", "1000"),
            *("--quorum_tick_ms", "100", "--heartbeat_timeout_ms", "1500"),
        )
        time.sleep(1)
        self.resize(1)

    def resize(self, workers: int) -> None:
        while len(self._replicas) > workers:
            self._processes.end(self._replicas.pop())
        while len(self._replicas) < workers:
            script = str(Path(__file__).with_name("train_with_torchft.py"))
            self._replicas.append(
                self._processes.start(sys.executable, script, TORCHFT_LIGHTHOUSE=self._address)
            )

    def kill_one(self) -> None:
        self._processes.end(self._replicas.pop(), signal.SIGKILL)

    def stop(self) -> None:
        self._processes.kill_all()
