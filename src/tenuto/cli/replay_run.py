"""Running replays one after the other, with progress on standard error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from tenuto.cli.console import Console
from tenuto.lab.interrupts import interrupts_held
from tenuto.lab.replay import Replay, Terms, load_kernels, replay
from tenuto.policy.base import Policy
from tenuto.sim.library import find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.workload import Workload, resolve


def run_all(
    workloads: Sequence[Workload], policies: Sequence[Policy], terms: Terms, *, show_progress: bool
) -> list[Replay]:
    """Replay every trace under every policy."""
    with progress(show=show_progress) as bar:
        return [_replay(workload, policy, terms, bar) for workload in workloads for policy in policies]


def workloads_of(traces: Sequence[str], cluster: str, profiles: str) -> list[Workload]:
    """Read and check every input before anything is run or written."""
    known, site = load_profiles(profiles), load_cluster(cluster)
    return [resolve(read_trace(find_trace(trace)), known, site) for trace in traces]


@contextmanager
def progress(*, show: bool) -> Iterator[Progress]:
    """A bar on standard error, if that is a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    # In a file a bar that comes and goes leaves nothing but an empty line.
    disable = not (show and console.is_terminal)
    with Progress(*columns, console=console, transient=True, disable=disable) as bar:
        yield bar


def _replay(workload: Workload, policy: Policy, terms: Terms, bar: Progress) -> Replay:
    """Replay one trace under one policy."""
    task = bar.add_task("loading kernels (compiled once per version)", total=len(workload.trace))
    with interrupts_held() as let_through:
        compile_s = load_kernels(policy, terms)
        let_through()
        bar.update(task, description=f"{workload.trace.name}, {policy.name}")

        def tell(done: int, jobs: int) -> None:
            bar.update(task, completed=done, total=jobs)
            let_through()

        done = replay(workload, policy, terms, tell, compile_s)
    bar.remove_task(task)
    return done
