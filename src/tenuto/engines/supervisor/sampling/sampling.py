"""The sampler's life and the way of its samples, put together: all that the supervisor has to do with."""

from __future__ import annotations

from collections.abc import Sequence

from tenuto.engines.gpu_memory import Parts
from tenuto.engines.supervisor.sampling.process import PROGRAM
from tenuto.engines.supervisor.sampling.shelf import Shelf
from tenuto.engines.supervisor.sampling.upload import SampleUpload
from tenuto.engines.supervisor.sampling.watch import SamplerWatch
from tenuto.engines.supervisor.server import Server
from tenuto.wire.node import Hello, Welcome


class Sampling:
    """Once for each node, whoever trains there. Nothing here waits, but `end` for a sampler that was killed."""

    def __init__(self, server: Server, hello: Hello, program: Sequence[str] = PROGRAM) -> None:
        shelf = Shelf()
        self._watch = SamplerWatch(shelf, program)
        self._upload = SampleUpload(server, hello, shelf)

    def heed(self, welcome: Welcome) -> None:
        """Sample as the server wants it."""
        self._watch.want(welcome.sample_every)
        if welcome.sample_every > 0:
            self._upload.want(welcome.upload_every)

    def memory_parts(self, devices: Sequence[str]) -> Parts:
        """How much of these GPUs' memory is in use."""
        return self._watch.memory_parts(devices)

    def end(self) -> None:
        """End the sampler; what was not brought over by then is lost."""
        self._upload.end()
        self._watch.end()
