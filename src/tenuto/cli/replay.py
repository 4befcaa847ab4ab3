"""`tenuto replay`: what a policy would have made of a trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tenuto.cli.console import Console
from tenuto.cli.printing import print_json, say, write_text
from tenuto.cli.replay_live import (
    FastForwardOption,
    LiveOption,
    LocalOption,
    ServerOption,
    SharedOption,
    SpeedupOption,
    Wall,
    check_options,
    given_options,
    rehearse_all,
)
from tenuto.cli.replay_outputs import Outputs
from tenuto.cli.replay_run import run_all, workloads_of
from tenuto.cli.replay_table import print_details, print_table
from tenuto.cli.replay_wanted import Wanted
from tenuto.lab.choose_policies import choose
from tenuto.lab.replay import Replay, Terms, check_policy, check_terms
from tenuto.model.snapshot import Placement, Rules
from tenuto.sim.cost import load_cost
from tenuto.sim.early_stop import EarlyStop

EXAMPLES = (
    "Examples: tenuto replay lab-200 --policy all --cluster n8g8 · "
    "tenuto replay cluster01.csv --cluster n64g8 --policy elasticflow,edf --out runs --json · "
    "tenuto replay --live lab-200 --fast-forward --policy all · tenuto replay --live demo-10 --speedup 100 --local"
)


class Compat(StrEnum):
    """Whose semantics a replay uses instead of ours."""

    ARTIFACT = "artifact"
    ARTIFACT_2022 = "artifact-2022"


def replay(
    ctx: typer.Context,
    traces: Annotated[
        list[str], typer.Argument(metavar="TRACE", help="Files, or names from `tenuto trace list`.")
    ],
    policy: Annotated[
        str, typer.Option("--policy", "-p", help="Names, .py files or all, separated by commas.")
    ] = "elasticflow",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="[POLICY.]SETTING=VALUE", help="See `tenuto policies --settings`."),
    ] = None,
    cluster: Annotated[
        str,
        typer.Option("--cluster", "-c", help="n16g8, 16x8 (nodes x slots), 2x32x8, or a CSV or YAML file."),
    ] = "n16g8",
    profiles: Annotated[
        str, typer.Option("--profiles", help="a100, t4, a CSV file or a directory.")
    ] = "a100",
    placement: Annotated[Placement, typer.Option("--placement", help="Where jobs go.")] = Placement.BUDDY,
    slot: Annotated[
        float, typer.Option("--slot", min=0.0, help="Least seconds between two optional rescales of a job.")
    ] = 60.0,
    overhead: Annotated[
        str,
        typer.Option(
            "--overhead",
            help="Cost of changes: default, none, artifact, 5,3 (start, rescale), or a JSON file; "
            "with --live 5,5 if not said.",
        ),
    ] = "default",
    margin: Annotated[
        float, typer.Option("--margin", min=0.0, help="Share of work that admission adds for safety.")
    ] = 0.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="For chance in policies and placement.")] = 0,
    compat: Annotated[
        Compat | None, typer.Option("--compat", help="Reproduce the reference simulator, quirks included.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write result files below this directory."),
    ] = None,
    gpu_layout: Annotated[
        bool, typer.Option("--gpu-layout", help="With --out: also who was on which slot at every event.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the result (.png or .svg).")
    ] = None,
    timeline: Annotated[
        Path | None, typer.Option("--timeline", metavar="FILE", help="Draw who was on which slot when.")
    ] = None,
    early_stop: Annotated[
        str | None, typer.Option("--early-stop", metavar="METRIC>=N", help="Stop early, e.g. 'missed>=10'.")
    ] = None,
    live: LiveOption = False,
    fast_forward: FastForwardOption = False,
    speedup: SpeedupOption = None,
    local: LocalOption = False,
    shared: SharedOption = None,
    server: ServerOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON only (on standard output).")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Also tell how each replay went.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Overwrite earlier results and pictures.")
    ] = False,
) -> None:
    """Replay traces under policies and compare what becomes of the deadlines."""
    wanted = Wanted(
        traces=traces,
        policy=policy,
        settings=settings or (),
        cluster=cluster,
        profiles=profiles,
        rules=Rules(interval=slot, margin=margin, placement=placement, seed=seed),
        overhead=overhead,
        outputs=Outputs(out, gpu_layout, picture, timeline, force),
        as_json=as_json,
        quiet=quiet,
        given=given_options(ctx),
    )
    check_options(wanted.given, live=live)
    wanted.outputs.check(traces)
    if live:
        rehearse_all(wanted, Wall(speedup, fast_forward, local, shared, server))
    else:
        _simulate(wanted, compat, early_stop, verbose=verbose)


def _simulate(wanted: Wanted, compat: Compat | None, early_stop: str | None, *, verbose: bool) -> None:
    """Replay in the simulator; nothing is run or written before everything is checked."""
    outputs, choice = wanted.outputs, choose(wanted.policy, wanted.settings, compat=compat is not None)
    terms = Terms(
        rules=wanted.rules,
        overhead=wanted.overhead,
        compat=None if compat is None else compat.value,
        layouts=outputs.layouts,
        early_stop=None if early_stop is None else EarlyStop.parse(early_stop),
    )
    check_terms(terms)
    for chosen in choice.policies:
        check_policy(chosen, terms)
    workloads = workloads_of(wanted.traces, wanted.cluster, wanted.profiles)
    for workload in workloads:
        load_cost(wanted.overhead, workload.sizes, workload.cluster)
    outputs.check_targets(workloads, choice.policies)
    for remark in choice.remarks:
        say(remark)
    replays = run_all(workloads, choice.policies, terms, show_progress=not wanted.quiet)
    arguments = wanted.arguments(wanted.overhead, compat=terms.compat, early_stop=early_stop)
    outputs.write(replays, choice, arguments)
    _print(replays, choice.changes, wanted.as_json, verbose)


def _print(replays: Sequence[Replay], changes: str, as_json: bool, verbose: bool) -> None:
    if as_json:
        rows = [asdict(done.summary) for done in replays]
        print_json(rows)
        return
    console = Console()
    print_table(console, [done.summary for done in replays], changes)
    for done in replays:
        if len(replays) > 1:
            console.print(f"{done.summary.trace}, {done.summary.policy}:", highlight=False)
        write_text(f"accepted jobs: {done.summary.accepted}\n")
        write_text(f"declined jobs: {done.summary.not_accepted}\n")
    if verbose:
        print_details(console, replays)
