"""Figures, runs and pictures for tests: small, and without anything that must be downloaded."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from tenuto.lab.cell import Cell
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.figure import Figure, Group, Runs
from tenuto.lab.figures.make import Drawn, Order, draw_figures, find_traces
from tenuto.lab.figures.sources import GeneratedTrace, PublicTrace
from tenuto.lab.results import Jobs, Result
from tenuto.sim.generate import GeneratorOptions
from tenuto.sim.outcome import Events
from tenuto.sim.report import Summary

SVG = "{http://www.w3.org/2000/svg}"
FAST = ("edf", "elasticflow")

Corners = list[tuple[float, float]]


def a_trace(jobs: int = 8, seed: int = 0, best_effort: float = 0.0) -> GeneratedTrace:
    """Jobs that come at once and are in each other's way."""
    options = GeneratorOptions(
        jobs=jobs, mean_interarrival=60.0, seed=seed, max_slots=4, best_effort_share=best_effort
    )
    return GeneratedTrace(f"small-{jobs}-{seed}-{best_effort}", options)


def a_figure(name: str, *traces: GeneratedTrace | PublicTrace, policies: tuple[str, ...] = FAST) -> Figure:
    """One of the figures, with these traces on a small cluster in place of its own."""
    figure = FIGURES[name]
    places = [group.place for group in figure.groups]
    groups = tuple(Group(place, trace, "n1g4") for place, trace in zip(places, traces, strict=False))
    return replace(figure, groups=groups, policies=policies, profiles="a100")


def drawn(figure: Figure, out: Path, *, compat: str | None = None, data: Path | None = None) -> Drawn:
    """Run and draw one figure in this process."""
    order = Order(figures=(figure,), out=out, compat=compat, data=data, processes=1, show_progress=False)
    (one,) = draw_figures(order, find_traces(order))
    return one


@dataclass(frozen=True)
class AResult(Result):
    """A finished run that lies in no directory."""

    told_jobs: Jobs | None = None
    told_events: Events | None = None

    def jobs(self) -> Jobs:
        assert self.told_jobs is not None
        return self.told_jobs

    def events(self) -> Events:
        assert self.told_events is not None
        return self.told_events


def a_result(*, met: int = 1, jobs: Jobs | None = None, events: Events | None = None) -> Result:
    """A run of four jobs."""
    return AResult(Cell(trace="test"), Path("nowhere"), a_summary(met), jobs, events)


def a_summary(met: int, of: int = 4) -> Summary:
    return Summary(
        policy="edf",
        trace="test",
        cluster="n1g4",
        slot=60.0,
        compat=None,
        deadline_jobs=of,
        best_effort_jobs=0,
        admitted=of,
        declined=0,
        met=met,
        missed=of - met,
        broken=0,
        ratio=met / of,
        mean_jct=None,
        median_jct=None,
        makespan=None,
        mean_efficiency=None,
        mean_allocated=None,
        rounds=1,
        cpu_s=0.0,
        compile_s=0.0,
    )


def some_jobs(
    submitted: list[float],
    finished: list[float],
    best_effort: list[bool] | None = None,
    admitted: list[bool] | None = None,
) -> Jobs:
    """Jobs of which only this matters."""
    count = len(submitted)
    nothing, zeros = np.full(count, np.nan), np.zeros(count, dtype=np.int64)
    return Jobs(
        ids=tuple(map(str, range(count))),
        submitted=np.array(submitted),
        deadline=nothing,
        best_effort=np.array([False] * count if best_effort is None else best_effort),
        admitted=np.array([True] * count if admitted is None else admitted),
        reason=("",) * count,
        promised=nothing,
        started=nothing,
        finished=np.array(finished),
        met=np.zeros(count, dtype=np.bool_),
        last_slots=zeros,
        changes=zeros,
        preempted=zeros,
    )


def some_events(time: list[float], efficiency: list[float], busy: list[int] | None = None) -> Events:
    """Events of which only this matters."""
    zeros = np.zeros(len(time), dtype=np.int64)
    slots = zeros if busy is None else np.array(busy, dtype=np.int64)
    return Events(np.array(time), np.array(efficiency), slots, zeros, zeros)


def runs_of(figure: Figure, results: dict[tuple[str, str], Result], compat: str | None = None) -> Runs:
    return Runs(figure, figure.policies, compat, results)


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def shapes_in(svg: Path, kind: str) -> dict[str, Corners]:
    """The corners of every bar or line in a picture, by its name."""
    found = {}
    for group in ElementTree.parse(svg).iter(f"{SVG}g"):
        name = group.get("id", "")
        if name.startswith(kind + "-"):
            path = group.find(f"{SVG}path")
            assert path is not None, name
            numbers = re.findall(r"[ML] (\S+) (\S+)", path.get("d", ""))
            found[name] = [(float(x), float(y)) for x, y in numbers]
    return found


def data_in(svg: Path) -> str:
    """The table that a picture carries."""
    for element in ElementTree.parse(svg).iter("{http://purl.org/dc/elements/1.1/}description"):
        return element.text or ""
    raise AssertionError(f"{svg} carries no data")
