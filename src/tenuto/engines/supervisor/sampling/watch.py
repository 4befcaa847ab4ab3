"""Keeps the node's sampler alive and puts what it tells on the shelf: one thread, which waits for nothing but lines."""

from __future__ import annotations

import json
import logging
import math
import os
import select
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from tenuto.engines.gpu_memory import Parts, nvml_parts
from tenuto.engines.supervisor.sampling.minder import Act, Minder
from tenuto.engines.supervisor.sampling.process import PROGRAM, SamplerProcess
from tenuto.engines.supervisor.sampling.shelf import Kept, Shelf

log = logging.getLogger(__name__)
_FAREWELL = 2.0
"""Seconds in which a sampler that was killed has ended, unless it waits for a driver."""
_LOOK = 1.0
"""Seconds after which it is looked whether a sampler lives, though its pipe is open."""
_FRESH = 15.0
"""Seconds, and periods of the sampler, for which a sample tells how it is now."""


class SamplerWatch:
    """One sampler for the node, as long as samples are wanted. The supervisor's loop calls `want` and `end`."""

    def __init__(self, shelf: Shelf, program: Sequence[str] = PROGRAM) -> None:
        self._shelf = shelf
        self._program = program
        self._minder = Minder()
        self._sampler: SamplerProcess | None = None
        self._every: float | None = None
        """As it was last wanted; None before anybody has said."""
        self._bell, self._ring = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._newest: tuple[float, Mapping[str, Any]] | None = None

    def want(self, every: float) -> None:
        """Have a sample so often from now on; never, if that is 0."""
        self._every = every
        if self._thread is None and every > 0 and not self._ended.is_set():
            self._thread = threading.Thread(target=self._run, daemon=True, name="sampler")
            self._thread.start()
        self._wake()

    def end(self) -> None:
        """End the sampler, and wait until it has gone."""
        if self._ended.is_set():
            return
        self._ended.set()
        self._wake()
        if self._thread is not None:
            self._thread.join(2 * _FAREWELL)
            if self._thread.is_alive():
                return
        for end in (self._bell, self._ring):
            os.close(end)

    def memory_parts(self, devices: Sequence[str]) -> Parts:
        """How much of these GPUs' memory is in use, by the newest sample; by NVML itself if there are to be none."""
        if self._every == 0:
            return nvml_parts(devices)
        newest = self._newest
        if newest is None or self._every is None:
            return (None,) * len(devices)
        if time.monotonic() - newest[0] > _FRESH + 2 * self._every:
            return (None,) * len(devices)
        return parts_in(newest[1], devices)

    def _wake(self) -> None:
        with suppress(BlockingIOError):  # it rings already
            os.write(self._ring, b"\n")

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._turn()
            except Exception:
                log.exception("this is a fault of tenuto; sampling goes on in a while")
                self._ended.wait(_LOOK)
        if self._sampler is not None:
            self._sampler.kill()
            self._sampler.end(_FAREWELL)
            self._sampler.close()

    def _turn(self) -> None:
        """Do what is due, wait for something to happen, and take it in."""
        self._change_period()
        act, again = self._minder.due(time.monotonic())
        if act is Act.START:
            self._start()
        elif act is Act.KILL and self._sampler is not None:
            self._sampler.kill()
            self._minder.killed()
        else:
            self._wait(again)
        self._read()

    def _change_period(self) -> None:
        every = self._every or 0.0
        if every != self._minder.every:
            self._minder.changed(every, time.monotonic())
            if self._sampler is not None and every > 0:
                self._sampler.change(every)

    def _start(self) -> None:
        now = time.monotonic()
        try:
            self._sampler = SamplerProcess(self._minder.every, self._program)
        except OSError as error:
            self._minder.ended(f"the sampler cannot be started: {error}", now)
            log.warning("the sampler cannot be started: %s", error)
        else:
            self._minder.started(now)

    def _wait(self, until: float) -> None:
        poll = select.poll()
        poll.register(self._bell, select.POLLIN)
        if self._sampler is not None:
            until = min(until, time.monotonic() + _LOOK)
            if not self._sampler.silent:
                poll.register(self._sampler, select.POLLIN)
        seconds = max(0.0, until - time.monotonic())
        poll.poll(None if math.isinf(until) else math.ceil(1000 * seconds))
        with suppress(BlockingIOError):
            os.read(self._bell, 4096)

    def _read(self) -> None:
        if self._sampler is None:
            return
        how = self._sampler.end()  # asked first: what is read afterwards is then the whole
        for line in self._sampler.lines():
            self._take(line)
        if how is not None:
            self._sampler.close()
            self._sampler = None
            self._minder.ended(how, time.monotonic())
            if self._every and not self._ended.is_set():
                log.warning("%s; it is started again", how)

    def _take(self, line: bytes) -> None:
        told = _sample(line)
        if told is None:
            log.warning("the sampler told something that is no sample: %.200r", line)
            return
        now = time.monotonic()
        gap = self._minder.sampled(told["at"], now)
        self._shelf.add(Kept(told["at"], line, gap))
        self._newest = (now, told)


def parts_in(sample: Mapping[str, Any], devices: Sequence[str]) -> Parts:
    """The part of these GPUs' memory that is in use, as a sample tells; None where it does not."""
    found: dict[str, float | None] = {}
    for gpu in sample.get("gpus") or ():
        used, total = gpu.get("memory_used"), gpu.get("memory_total")
        found[str(gpu.get("index"))] = min(used / total, 1.0) if used is not None and total else None
    return tuple(found.get(device) for device in devices)


def _sample(line: bytes) -> dict[str, Any] | None:
    """A line as a sample; None if it is none."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    at = told.get("at") if isinstance(told, dict) else None
    return told if isinstance(at, int | float) and math.isfinite(at) else None
