"""`tenuto replay --live`: a trace on the live platform, and how far that is from what the simulator says.

The options and the checks; in fast-forward the rest is here too, in wall time it is in `replay_speedup`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from tenuto.cli.printing import say
from tenuto.cli.replay_run import progress, workloads_of
from tenuto.cli.replay_wanted import Wanted
from tenuto.client.whereabouts import URL
from tenuto.errors import InputInvalid
from tenuto.lab.choose_policies import Choice, choose
from tenuto.lab.interrupts import interrupts_held
from tenuto.lab.replay import Terms, check_terms
from tenuto.plugins import SUFFIX, policy_called
from tenuto.policy.base import Policy
from tenuto.settings import Scheduling
from tenuto.sim.cost import load_cost
from tenuto.sim.workload import Workload

if TYPE_CHECKING:
    from rich.progress import Progress

    from tenuto.rehearsal.rehearse import Rehearsed
    from tenuto.rehearsal.score import Score
    from tenuto.server.scene import Rule

LiveOption = Annotated[
    bool,
    typer.Option(
        "--live", help="Play it on the live platform with stand-in workers, and compare both job by job."
    ),
]
FastForwardOption = Annotated[
    bool,
    typer.Option(
        "--fast-forward",
        help="With --live: in virtual time, on a platform of its own; both must agree exactly (exit code 1 if not). "
        "The default.",
    ),
]
SpeedupOption = Annotated[
    float | None,
    typer.Option(
        "--speedup",
        metavar="K",
        help="With --live: in wall time, K times faster, with real processes on the platform that runs.",
    ),
]
LocalOption = Annotated[
    bool,
    typer.Option(
        "--local", help="With --speedup: on a platform of its own, gone afterwards (n2g4 if not said)."
    ),
]
SharedOption = Annotated[
    Path | None,
    typer.Option(
        "--shared",
        metavar="DIR",
        help="With --speedup: a directory that all nodes see, if they are several machines.",
    ),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", envvar=URL, metavar="URL", help="With --speedup: the server; else this machine's."
    ),
]
DIFFERENT = 1
"""The exit code if the platform and the simulator do not agree."""
_ONLY_SIMULATED = ("compat", "gpu_layout", "picture", "timeline", "early_stop")
_ONLY_LIVE = ("fast_forward", "speedup", "local", "shared", "server")


@dataclass(frozen=True)
class Wall:
    """How it is played in wall time."""

    speedup: float | None
    fast_forward: bool
    local: bool
    shared: Path | None
    server: str | None


def given_options(ctx: typer.Context) -> frozenset[str]:
    """The names of the options that stand on the command line."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    return frozenset(name for name, source in sources.items() if source and source.name == "COMMANDLINE")


def check_options(given: frozenset[str], *, live: bool) -> None:
    """Refuse options that mean nothing together."""
    senseless = [name for name in (_ONLY_SIMULATED if live else _ONLY_LIVE) if name in given]
    if senseless:
        option = f"--{senseless[0].replace('_', '-')}"
        raise InputInvalid(
            f"{option} is for a replay {'in the simulator alone' if live else 'on the live platform'}",
            remedy=f"Leave {option} out" + ("" if live else ", or add --live"),
        )


def rehearse_all(wanted: Wanted, wall: Wall) -> None:
    """Play the traces on the live platform and compare."""
    check_terms(Terms(rules=wanted.rules))
    if wall.speedup is not None:
        if wall.fast_forward:
            raise InputInvalid("--speedup is wall time, --fast-forward is not", remedy="Give one of them")
        from tenuto.cli.replay_speedup import play

        play(wanted, wall)
        return
    for name in ("local", "shared", "server"):
        if name in wanted.given:
            raise InputInvalid(
                f"--{name} is for wall time; in fast-forward the platform is always one of its own",
                remedy=f"Leave --{name} out, or add --speedup",
            )
    _fast_forward(wanted)


def overhead_of(wanted: Wanted) -> str:
    """The cost model; if none was given, what the live platform reckons with if nothing is set."""
    usual = Scheduling()
    return wanted.overhead if "overhead" in wanted.given else f"{usual.start_cost:g},{usual.rescale_cost:g}"


def scheduling_of(wanted: Wanted, policy: str, workload: Workload) -> Scheduling:
    """What the platform shall decide by."""
    rules = wanted.rules
    start, rescale = _two_costs(overhead_of(wanted), workload)
    return Scheduling(
        policy=policy,
        interval=rules.interval,
        margin=rules.margin,
        placement=rules.placement,
        seed=rules.seed,
        start_cost=start,
        rescale_cost=rescale,
    )


def _two_costs(overhead: str, workload: Workload) -> tuple[float, float]:
    """Seconds of a start and of a rescale: all that the live platform knows about costs."""
    cost = load_cost(overhead, workload.sizes, workload.cluster)
    columns = (cost.start, cost.rescale, cost.move)
    if any(np.ptp(column) for column in columns) or cost.rescale[0] != cost.move[0]:
        raise InputInvalid(
            f"--overhead {overhead} costs otherwise at other sizes; the live platform reckons with one number "
            "of seconds for a start and one for a rescale",
            remedy="Give none or two numbers, such as --overhead 5,3",
        )
    return float(cost.start[0]), float(cost.rescale[0])


def names_of(choice: Choice, policy: str) -> dict[str, str]:
    """What the platform must be told to find each policy: its name, or its file."""
    files = [part.strip() for part in policy.split(",") if part.strip().endswith(SUFFIX)]
    found = {policy_called(file).name: str(Path(file).absolute()) for file in files}
    return {one.name: found.get(one.name, one.name) for one in choice.policies}


def _fast_forward(wanted: Wanted) -> None:
    from tenuto.cli.replay_compared import print_rehearsals, write_rehearsals
    from tenuto.rehearsal.score import score_of

    choice = choose(wanted.policy, wanted.settings)
    names = names_of(choice, wanted.policy)
    workloads = workloads_of(wanted.traces, wanted.cluster, wanted.profiles)
    scores = [score_of(workload) for workload in workloads]
    scheduling = scheduling_of(wanted, "", workloads[0])
    wanted.outputs.check_targets(workloads, choice.policies)
    for remark in choice.remarks:
        say(remark)
    done: list[Rehearsed] = []
    with progress(show=not wanted.quiet) as bar:
        for score in scores:
            for policy in choice.policies:
                rule = _rule(replace(scheduling, policy=names[policy.name]), choice, policy)
                done.append(_rehearsed(score, policy, rule, bar))
    write_rehearsals(wanted, choice, done, wanted.arguments(overhead_of(wanted)))
    print_rehearsals(wanted, done)
    if any(one.differences for one in done):
        raise typer.Exit(DIFFERENT)


def _rule(scheduling: Scheduling, choice: Choice, policy: Policy) -> Rule:
    from tenuto.server.scene import Rule

    return Rule(scheduling, dict(choice.settings.get(policy.name, {})))


def _rehearsed(score: Score, policy: Policy, rule: Rule, bar: Progress) -> Rehearsed:
    """One trace under one policy. Python must not raise inside a kernel: a Ctrl-C waits for the next event."""
    from tenuto.rehearsal.rehearse import rehearse

    task = bar.add_task("loading kernels (compiled once per version)", total=len(score))
    with interrupts_held() as let_through:

        def tell(done: int, jobs: int) -> None:
            title = f"{score.workload.trace.name}, {policy.name}, live"
            bar.update(task, description=title, completed=done, total=jobs)
            let_through()

        done = rehearse(score, policy, rule, tell)
    bar.remove_task(task)
    return done
