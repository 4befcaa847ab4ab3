"""An errand: one experiment or one figure, run for somebody who watches from another process.

`python -m tenuto.lab.errand check|run DIRECTORY PARENT` reads ORDER in the directory, and whatever lies in INPUTS, and
tells how it goes in lines of JSON. It is polite to other processes, and ends when its parent does. What is finished
is not run again, so an errand that was stopped can be run once more.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import yaml

from tenuto.errors import CellsFailed, InputInvalid, TenutoError
from tenuto.lab.choose_policies import ALL, choose
from tenuto.lab.digest_file import DigestFile
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.make import Order, draw_figures, find_traces
from tenuto.lab.files import Format, write_rows
from tenuto.lab.folder import check_experiment, read_contents, settle_experiment
from tenuto.lab.orders import (
    DRAWN,
    EXPERIMENT,
    INPUTS,
    PAST,
    PAST_JOBS,
    REPORTS,
    FigureOrder,
    ReplayOrder,
    read_order,
)
from tenuto.lab.parent import end_with
from tenuto.lab.past_export import CLUSTER, COSTS, PROFILES, TRACE, export_of, write_files
from tenuto.lab.progress import Tally
from tenuto.lab.read_experiment import read_experiment
from tenuto.lab.report import rows_of
from tenuto.lab.results import load_result
from tenuto.lab.run import Prepared, alone_in, run_prepared
from tenuto.lab.task import Task
from tenuto.lab.worker import Ended, News
from tenuto.plugins import lack, policy_called
from tenuto.sim.picture import check_drawing
from tenuto.sim.whole_file import whole_file

POLITENESS = 15
"""How far behind others it stands in the line for a processor."""
BREATH = 0.3
"""Least seconds between two lines about progress."""

Tell = Callable[..., None]


def check(directory: Path, tell: Tell) -> None:
    """Prepare everything and refuse what cannot be; nothing is run."""
    order = read_order(directory)
    if isinstance(order, FigureOrder):
        check_drawing()
        for name in FIGURES[order.figure].wanted(order.compat, frozenset(order.without)):
            if problem := lack(policy_called(name)):
                raise problem
        tell(ready=True, remarks=[])
        return
    _write_experiment(order, directory)
    experiment = read_experiment(directory / EXPERIMENT)
    prepared = check_experiment(experiment)
    if prepared.refused:
        reasons = dict.fromkeys(prepared.refused.values())
        raise InputInvalid("this cannot be replayed", remedy=" ".join(reasons))
    jobs = max(task.jobs for task in prepared.tasks)
    tell(ready=True, cells=len(prepared.tasks), jobs=jobs, remarks=list(experiment.remarks))


def run(directory: Path, tell: Tell) -> None:
    """Do what `check` found to be possible."""
    order = read_order(directory)
    if isinstance(order, FigureOrder):
        _draw(order, directory, tell)
        return
    experiment = read_experiment(directory / EXPERIMENT)
    with alone_in(experiment.out):
        prepared = settle_experiment(experiment, check_experiment(experiment))
        watching = _Watching(tell, DigestFile(directory))
        try:
            run_prepared(prepared, processes=1, show_progress=False, onlooker=watching)
        finally:
            if any(load_result(task.folder) for task in prepared.tasks):
                rows = rows_of(read_contents(experiment.out).results)
                for name in REPORTS:
                    write_rows(rows, directory / name, Format(Path(name).suffix[1:]))


def _draw(order: FigureOrder, directory: Path, tell: Tell) -> None:
    wanted = Order(
        figures=(FIGURES[order.figure],),
        out=directory,
        compat=order.compat,
        without=frozenset(order.without),
        processes=1,
        show_progress=False,
        onlooker=_Watching(tell),
    )
    files = find_traces(wanted)
    [drawn] = draw_figures(wanted, files)
    told = {
        "title": drawn.figure.title,
        "files": [path.name for path in drawn.files],
        "missing": list(drawn.missing),
        "remarks": list(files.remarks),
    }
    with whole_file(directory / DRAWN) as stream:
        stream.write(json.dumps(told, indent=2, ensure_ascii=False) + "\n")


def _write_experiment(order: ReplayOrder, directory: Path) -> None:
    """Write the order as an experiment that `tenuto lab run` takes as well."""
    parameters: dict[str, Any] = {
        "slot": order.slot,
        "placement": order.placement,
        "profiles": order.profiles,
        "compat": order.compat,
    }
    policies: list[Any] = list(order.policies)
    seed = 0
    if not order.trace:
        time = _export_past(directory)
        past = f"{INPUTS}/{PAST}"
        parameters = {
            "slot": time["interval"],
            "margin": time["margin"],
            "placement": time["placement"],
            "overhead": f"{past}/{COSTS}",
            "profiles": f"{past}/{PROFILES}",
        }
        seed = time["seed"]
        order = replace(order, trace=f"{past}/{TRACE}", cluster=order.cluster or f"{past}/{CLUSTER}")
        if ALL in policies:
            policies = [policy.name for policy in choose(ALL).policies]
        if time["policy"] in policies and time["settings"]:
            policies[policies.index(time["policy"])] = {time["policy"]: dict(time["settings"])}
    experiment = {
        "out": ".",
        "traces": [order.trace],
        "clusters": [order.cluster],
        "policies": [ALL] if ALL in policies else policies,
        "parameters": parameters,
        "seeds": [seed],
    }
    with whole_file(directory / EXPERIMENT) as stream:
        yaml.safe_dump(experiment, stream, allow_unicode=True, sort_keys=False)


def _export_past(directory: Path) -> Mapping[str, Any]:
    """Write the past as a trace; the rules of that time."""
    told = json.loads((directory / INPUTS / PAST_JOBS).read_text(encoding="utf-8"))
    out = directory / INPUTS / PAST
    out.mkdir(exist_ok=True)
    write_files(export_of(told["jobs"], told["time"]), out, out)
    return cast(Mapping[str, Any], told["time"])


class _Watching:
    """Tells how far the cells are."""

    def __init__(self, tell: Tell, digest: DigestFile | None = None) -> None:
        self._tell = tell
        self._digest = digest
        self._tally = Tally(())
        self._last = 0.0

    def begin(self, prepared: Prepared, todo: Sequence[Task]) -> None:
        """Some of all are still to be run."""
        self._tally = Tally(todo)
        if self._digest is not None:
            self._digest.begin(prepared.tasks)
        self._say("loading kernels, which are compiled once per version")

    def watch(self, task: Task, news: News) -> None:
        """Something happened to a task."""
        self._tally.note(task, news)
        if isinstance(news, Ended) and self._digest is not None:
            self._digest.add(task)
        if isinstance(news, Ended) or time.monotonic() >= self._last + BREATH:
            self._say(str(task.cell))

    def _say(self, doing: str) -> None:
        self._last = time.monotonic()
        tally = self._tally
        part = tally.done / tally.all if tally.all else 1.0
        self._tell(part=round(part, 4), ended=tally.ended, cells=tally.cells, doing=doing)


def explained(error: TenutoError, directory: Path) -> str:
    """What went wrong, as somebody sees it who did not write the files: their own are named as they named them."""
    if isinstance(error, CellsFailed):
        said = "; ".join(f"{name}: {reason}" for name, reason in error.reasons.items())
    elif isinstance(error, InputInvalid) and error.place and Path(error.place.file).name == EXPERIMENT:
        said = f"{error.problem}. {error.remedy}"
    else:
        said = str(error)
    return said.replace(f"{directory / INPUTS}{os.sep}", "")


def main(verb: str, directory: Path, parent: int) -> int:
    """Run an errand; what is to be told goes to standard output."""
    end_with(parent)
    os.nice(POLITENESS)

    def tell(**news: Any) -> None:
        sys.stdout.write(json.dumps(news, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    try:
        {"check": check, "run": run}[verb](directory, tell)
    except TenutoError as error:
        tell(trouble=explained(error, directory))
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
