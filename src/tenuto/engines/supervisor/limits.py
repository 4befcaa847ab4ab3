"""How much memory a worker uses with everything that it started, and whether that is too much."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import psutil

from tenuto.engines.supervisor.shim.processes import descendants

_MEBIBYTE = 1 << 20


def over_limit(shim: int, limit: int, children: Mapping[int, list[int]]) -> str | None:
    """A sentence if the processes below the shim use more than the limit, else None.

    Pages that several processes share are counted once for each by the resident sizes, which are cheap to ask for;
    only if that sum is too much the proportional sizes are asked for, and they decide.
    """
    family = descendants(shim, dict(children))
    if _resident(family) <= limit:
        return None
    used = _proportional(family)
    if used <= limit:
        return None
    return f"it used {used / _MEBIBYTE:.0f} MiB of memory; its limit is {limit / _MEBIBYTE:.0f} MiB"


def _resident(pids: Iterable[int]) -> int:
    return sum(_ask(pid, proportional=False) for pid in pids)


def _proportional(pids: Iterable[int]) -> int:
    return sum(_ask(pid, proportional=True) for pid in pids)


def _ask(pid: int, *, proportional: bool) -> int:
    try:
        process = psutil.Process(pid)
        return int(process.memory_full_info().pss if proportional else process.memory_info().rss)
    except psutil.AccessDenied:
        return _ask(pid, proportional=False) if proportional else 0
    except psutil.Error:
        return 0  # gone meanwhile
