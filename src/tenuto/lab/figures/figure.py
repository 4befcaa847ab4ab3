"""What a figure is: the runs it needs, how they become numbers, and how the numbers are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenuto.lab.cell import Cell
from tenuto.lab.figures.numbers import Panel
from tenuto.lab.figures.sources import GeneratedTrace, PublicTrace
from tenuto.lab.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


GREEDY = "-greedy"
"""What the name of a policy ends in that does without its solver."""


@dataclass(frozen=True, slots=True)
class Group:
    """What every policy of a figure is replayed on at one place of its x axis."""

    place: str
    trace: PublicTrace | GeneratedTrace
    cluster: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One picture of the paper."""

    name: str
    title: str
    groups: tuple[Group, ...]
    policies: tuple[str, ...]
    indispensable: tuple[str, ...] = ()
    """Policies without which the figure has no numbers."""
    slot: float
    profiles: str = "a100"
    tabulate: Callable[[Runs], tuple[Panel, ...]]
    draw: Callable[[Canvas, Sequence[Panel], bool], None]
    """Draws panels onto an empty canvas, with the published values if the flag says so."""
    size: tuple[float, float] = (8.0, 4.5)
    """Inches."""
    remarks: tuple[str, ...] = ()
    """What a reader must know to compare the picture with the paper's."""

    def wanted(self, compat: str | None, without: frozenset[str]) -> tuple[str, ...]:
        """The policies to draw, by the names under which they are run."""
        kept = [policy for policy in self.policies if not without & {policy, policy.removesuffix(GREEDY)}]
        # The logs that the authors shipped come from the greedy path.
        return tuple(policy + GREEDY if compat and policy == "chronus" else policy for policy in kept)

    def cell(self, group: Group, policy: str, trace: str, compat: str | None) -> Cell:
        """The run of one policy on one group's trace, which lies in this file."""
        return Cell(
            trace=trace,
            policy=policy,
            cluster=group.cluster,
            profiles=self.profiles,
            slot=self.slot,
            compat=compat,
        )


@dataclass(frozen=True, slots=True)
class Runs:
    """The finished runs of one figure."""

    figure: Figure
    policies: tuple[str, ...]
    """What the user wants drawn."""
    compat: str | None
    results: Mapping[tuple[str, str], Result]
    """By place on the x axis and policy; nothing where the trace was not there."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The names of traces that were not there, each once."""
        there = {place for place, _ in self.results}
        return tuple(dict.fromkeys(g.trace.name for g in self.figure.groups if g.place not in there))

    @property
    def only(self) -> Mapping[str, Result]:
        """By policy, in figures with one group."""
        return {policy: result for (_, policy), result in self.results.items()}
