"""Interfaces of the network: what they can do, and what flows."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tenuto.monitor.proc import Places, number, read
from tenuto.monitor.rates import Rates
from tenuto.wire.sample import NetSample

_MOST = 32
_LOOK_AGAIN = 30.0
"""Seconds between two looks at which interfaces there are, and how fast they are."""
_UP = 1
"""The bit of an interface's flags that says so."""


class Nets:
    """The interfaces of this machine, without loopback and those that lead into containers."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._rates = Rates()
        self._told: dict[str, float | None] = {}
        """The bandwidth of each interface that is told of."""
        self._all: set[str] = set()
        """The interfaces that there were when we looked which to tell of."""
        self._looked = 0.0

    def look(self, now: float) -> tuple[NetSample, ...]:
        """`now` is of a clock that nobody sets."""
        counters = bytes_in(read(f"{self._places.proc}/net/dev"))
        if counters.keys() != self._all or now - self._looked >= _LOOK_AGAIN:
            self._looked, self._all = now, set(counters)
            self._told = {name: self._bandwidth(name) for name in self._worth_telling(counters)}
        flows = self._rates.since_last(now, {name: counters[name] for name in self._told})
        return tuple(
            NetSample(id=name, bandwidth=bandwidth, received=flows[name][0], sent=flows[name][1])
            for name, bandwidth in self._told.items()
        )

    def _worth_telling(self, names: Iterable[str]) -> list[str]:
        """Hardware; of what is made by software, what is up and no end of a pair that leads into a container.

        Pairs come and go with containers by the hundred. Inside of one such an end is all there is, and is told of.
        """
        others = sorted(name for name in names if name != "lo")
        hardware = [name for name in others if os.path.exists(self._of(name, "device"))]
        made = [name for name in others if name not in hardware and self._is_up(name)]
        if hardware:
            made = [name for name in made if not self._is_end_of_pair(name)]
        return sorted([*hardware, *made][:_MOST])

    def _is_up(self, name: str) -> bool:
        return bool((number(self._of(name, "flags")) or 0) & _UP)

    def _is_end_of_pair(self, name: str) -> bool:
        """Whether its other end is an interface that we do not see; one on top of another (VLAN) says which."""
        if number(self._of(name, "iflink")) == number(self._of(name, "ifindex")):
            return False
        try:
            return not any(entry.startswith("lower_") for entry in os.listdir(self._of(name, "")))
        except OSError:
            return True

    def _bandwidth(self, name: str) -> float | None:
        """Bits a second; the kernel says megabits, and -1 or nothing if it does not know."""
        megabits = number(self._of(name, "speed"))
        return megabits * 1e6 if megabits is not None and megabits > 0 else None

    def _of(self, name: str, what: str) -> str:
        return f"{self._places.sys}/class/net/{name}/{what}"


def bytes_in(dev: bytes) -> dict[str, tuple[int, ...]]:
    """Bytes received and sent by each interface since it came up, in the words of /proc/net/dev."""
    found: dict[str, tuple[int, ...]] = {}
    for line in dev.splitlines()[2:]:
        name, _, told = line.rpartition(b":")
        words = told.split()
        found[os.fsdecode(name.strip())] = (int(words[0]), int(words[8]))
    return found
