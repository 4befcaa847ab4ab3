"""A platform on a machine with GPUs that are none (see `tests.nvml.gpus`)."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.platform import Platform
from tests.nvml.gpus import Gpu, Gpus

MIB = 1 << 20


class GpuPlatform(Platform):
    """A platform on a machine with one GPU, or as many as `gpus.show` says before it starts."""

    def __init__(self, directory: Path, *options: str) -> None:
        super().__init__(directory, *options)
        self.gpus = Gpus(directory / "드라이버")
        self.gpus.show(Gpu(memory_total=100 * MIB))

    @property
    def environment(self) -> dict[str, str]:
        """Of every process of this platform."""
        return {**super().environment, **self.gpus.environment}

    def use(self, percent: int) -> None:
        """So much of the first GPU's memory is in use from now on."""
        self.gpus.change(0, memory_used=percent * MIB, memory_total=100 * MIB)
