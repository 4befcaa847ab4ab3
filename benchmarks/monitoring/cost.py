"""What watching costs: shares of a core that sampler, supervisor and server take, and the time of a training step."""

from __future__ import annotations

import statistics

from rich.console import Console
from rich.table import Table

from monitoring import sampler_share, step_times, whole_platform


def print_costs(seconds: float = 10.0, pairs: int = 5) -> None:
    """Measure everything and print it: shares over so many seconds, steps in so many pairs."""
    out = Console()
    out.print(_sampler(seconds))
    out.print(_processes(seconds))
    out.print(_steps(pairs))


def _sampler(seconds: float) -> Table:
    table = Table("sampler", "% of one core", box=None, title="The sampler alone")
    for load in sampler_share.LOADS:
        found = sampler_share.shares(load, max(seconds, 10 * load.every))
        table.add_row(str(load), sampler_share.spread(found))
    return table


def _processes(seconds: float) -> Table:
    table = Table(
        "process", "off", "1 s", "0.25 s", box=None, title="A platform of 8 GPUs at rest, % of one core"
    )
    found = [whole_platform.shares(period, max(seconds, 10.0)) for period in (0.0, 1.0, 0.25)]
    for role in ("server", "supervisor", "sampler"):
        table.add_row(role, *(f"{shares[role]:.2f}" if role in shares else "-" for shares in found))
    return table


def _steps(pairs: int) -> Table:
    table = Table(
        "steps", "on, ms", "off, ms", "ratio", box=None, title="Medians of a training step, in pairs"
    )
    for name, found in (
        ("sampler halted in turns of 2 s", step_times.by_turns(4 * pairs, 1.0)),
        ("the same, every 0.25 s", step_times.by_turns(4 * pairs, 0.25)),
        ("platforms one after the other", list(step_times.by_platforms(pairs, 1.0))),
    ):
        on, off = (1000 * statistics.median(column) for column in zip(*found, strict=True))
        ratios = [with_it / without for with_it, without in found]
        table.add_row(f"{name}, {len(found)} pairs", f"{on:.3f}", f"{off:.3f}", _quartiles(ratios))
    return table


def _quartiles(ratios: list[float]) -> str:
    """`1.002 (0.994 to 1.010)`: the median, and between what half of them lie."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"
