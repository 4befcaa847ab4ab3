"""`tenuto replay --live --speedup`: a trace in wall time on a platform that runs, with real processes as workers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from tenuto.cli.connect import connect
from tenuto.cli.printing import say
from tenuto.cli.replay_fidelity import Told, print_fidelity
from tenuto.cli.replay_live import DIFFERENT, Wall, names_of, scheduling_of
from tenuto.cli.replay_run import progress
from tenuto.cli.replay_wanted import Wanted
from tenuto.client.plain import PlainClient
from tenuto.errors import InputInvalid, TenutoError, Unreachable
from tenuto.lab.choose_policies import Choice, choose
from tenuto.lab.replay import load_kernels, replay
from tenuto.model.cluster import Cluster
from tenuto.rehearsal.evidence import Evidence
from tenuto.rehearsal.reasons import fidelity
from tenuto.rehearsal.rehearse import terms_of
from tenuto.rehearsal.score import Score, score_of
from tenuto.rehearsal.site import Site, site_of
from tenuto.rehearsal.walk import Walk, simulated_walks
from tenuto.rehearsal.wall import Cast, Performance, others
from tenuto.settings import Scheduling
from tenuto.sim.library import find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.workload import Workload, resolve

SMALL = "n2g4"
"""The cluster of a platform of its own if none is named: each slot may be a process on this machine."""
FASTEST = 100_000.0
IN_SECONDS = ("quantum", "lease", "first_limit", "second_limit")
"""Settings of policies that are times, and shrink with the trace."""
_OF_THE_PLATFORM = ("policy", "settings", "cluster", "slot", "overhead", "margin", "placement", "seed")
_LOOK = 0.2


def play(wanted: Wanted, wall: Wall) -> None:
    """Play one trace in wall time, and tell how far that was from what the simulator says."""
    speedup = _speedup(wall)
    if len(wanted.traces) != 1:
        raise InputInvalid("in wall time one trace is played", remedy="Name one trace")
    with _directory(wall) as directory, _platform(wanted, wall, speedup) as client:
        site = site_of(client)
        score = score_of(_workload(wanted, site.cluster), speedup)
        simulated = _simulated(score, site)
        cast = Cast(_python(site, wall), str(directory), site.rule.scheduling)
        begun = time.monotonic()
        seen = _performed(Performance(client, score, cast), len(score), quiet=wanted.quiet)
        seconds = time.monotonic() - begun
    pairs = zip((walk.in_trace_time(speedup) for walk in simulated), seen, strict=True)
    compared = [fidelity(one, other.in_trace_time(speedup), speedup) for one, other in pairs]
    told = Told(score, site, compared, seconds)
    print_fidelity(wanted, told)
    if told.disagree:
        raise typer.Exit(DIFFERENT)


def _speedup(wall: Wall) -> float:
    assert wall.speedup is not None, "else it is played in fast-forward"
    if not isfinite(wall.speedup) or not 0.0 < wall.speedup <= FASTEST:
        raise InputInvalid(
            f"--speedup {wall.speedup:g} cannot be played",
            remedy=f"Give a number above 0 and at most {FASTEST:,.0f}; 1 is the trace's own pace",
        )
    return wall.speedup


def _workload(wanted: Wanted, cluster: Cluster) -> Workload:
    return resolve(read_trace(find_trace(wanted.traces[0])), load_profiles(wanted.profiles), cluster)


def _simulated(score: Score, site: Site) -> list[Walk]:
    """What the simulator makes of it, with everything that the platform reckons with."""
    policy, terms = site.rule.policy(), terms_of(site.rule.scheduling)
    done = replay(score.workload, policy, terms, lambda _done, _all: None, load_kernels(policy, terms))
    return simulated_walks(score, done.outcome)


def _performed(performance: Performance, jobs: int, *, quiet: bool) -> list[Evidence]:
    """Play it; whoever ends it early gets everything cancelled that was begun."""
    try:
        with progress(show=not quiet) as bar:
            task = bar.add_task("live", total=jobs)
            return performance.play(lambda done, all_: bar.update(task, completed=done, total=all_))
    except (KeyboardInterrupt, TenutoError):
        count = performance.cancel()
        say(
            f"Cancelled {count} jobs of this replay that had not ended."
            if count
            else "All its jobs had ended."
        )
        raise


def _python(site: Site, wall: Wall) -> str:
    """A Python on the nodes; and a directory that all of them see must be named if they are several machines."""
    if site.one_machine:
        return sys.executable
    if wall.shared is None:
        raise InputInvalid(
            "the nodes are on several machines, and the stand-ins must find what they have written",
            remedy="Name a directory that all nodes see with --shared DIR",
        )
    return "python3"


@contextmanager
def _directory(wall: Wall) -> Iterator[Path]:
    """Where the stand-ins write down how far they are; empty afterwards."""
    if wall.shared is not None and not wall.shared.is_dir():
        raise InputInvalid(f"{wall.shared} is no directory", remedy="Make it, on every node, or name another")
    where = None if wall.shared is None else wall.shared.absolute()
    with TemporaryDirectory(prefix="tenuto-replay-", dir=where) as place:
        yield Path(place)


# the platform


@contextmanager
def _platform(wanted: Wanted, wall: Wall, speedup: float) -> Iterator[PlainClient]:
    """The one that runs, or one of its own."""
    found = None if wall.local else _running(wall.server)
    if found is None:
        with _own(wanted, speedup) as client:
            yield client
        return
    with found as client:
        for name in _OF_THE_PLATFORM:
            if name in wanted.given:
                option = {"settings": "--set"}.get(name, f"--{name}")
                raise InputInvalid(
                    f"{option} is the platform's own affair",
                    remedy="Change it there (tenuto policy set), or play on a platform of its own with --local",
                )
        if living := others(client):
            say(
                f"Jobs of others live there ({', '.join(living)}): they take slots that the simulator does not know of."
            )
        yield client


def _running(server: str | None) -> PlainClient | None:
    """The platform that is named, or that of this machine; None if none is named and none runs."""
    try:
        client = connect(server)
        client.cluster()
    except Unreachable:
        if server is not None:
            raise
        say("No platform runs here: one of its own is started, and stopped afterwards.")
        return None
    return client


@contextmanager
def _own(wanted: Wanted, speedup: float) -> Iterator[PlainClient]:
    """A platform in a temporary home, whose seconds are the trace's divided by the speedup."""
    from tenuto.cli.demo_stage import platform

    choice = choose(wanted.policy, wanted.settings)
    if len(choice.policies) != 1:
        raise InputInvalid("in wall time one policy decides", remedy="Name one policy")
    cluster = load_cluster(wanted.cluster if "cluster" in wanted.given else SMALL)
    nodes, slots = _shape(cluster)
    score = score_of(_workload(wanted, cluster), speedup)  # before anything is started
    name = names_of(choice, wanted.policy)[choice.policies[0].name]
    scheduling = _sooner(scheduling_of(wanted, name, score.workload), speedup)
    with platform(nodes=nodes, slots=slots, scheduling=scheduling) as client:
        _await(client, cluster.total)
        if tuning := _tuning(choice, speedup):
            client.set_policy({"settings": tuning})
        yield client


def _shape(cluster: Cluster) -> tuple[int, int]:
    slots = set(cluster.slots.tolist())
    if len(slots) != 1:
        raise InputInvalid(
            f"the nodes of {cluster.name} have different numbers of slots, and those of this machine have not",
            remedy="Name a cluster of equal nodes, such as n2g4",
        )
    return len(cluster.slots), slots.pop()


def _sooner(scheduling: Scheduling, speedup: float) -> dict[str, object]:
    """What counts time in seconds of the trace, in those of the platform."""
    return {
        "policy": scheduling.policy,
        "interval": scheduling.interval / speedup,
        "margin": scheduling.margin,
        "placement": str(scheduling.placement),
        "seed": scheduling.seed,
        "start_cost": scheduling.start_cost / speedup,
        "rescale_cost": scheduling.rescale_cost / speedup,
    }


def _tuning(choice: Choice, speedup: float) -> dict[str, Any]:
    """The policy's own settings as the platform must have them."""
    policy = choice.policies[0]
    wished = choice.settings.get(policy.name, {})
    times = {name: value / speedup for name, value in policy.settings.items() if name in IN_SECONDS}
    return {**wished, **times}


def _await(client: PlainClient, slots: int) -> None:
    """Wait until all nodes are there and the first round need not wait for kernels."""
    from tenuto.cli.bench_run import await_slots

    await_slots(client, slots)
    said = False
    while client.cluster()["controller"]["state"] == "compiling":
        if not said:
            say("Kernels are being compiled: a minute or two, the first time on a machine.")
            said = True
        time.sleep(_LOOK)
