"""An experiment: which traces on which clusters under which policies, and with which parameters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tenuto.lab.cell import Cell
from tenuto.lab.generated import Generated

TRACES = "traces"
"""The directory below an experiment's in which its generated traces lie."""


@dataclass(frozen=True, slots=True)
class Source:
    """A trace as an experiment names it: a file, a name, or one that is drawn for it."""

    name: str
    """As reports call it."""
    text: str
    """A path or a name, as `find_trace` takes it; empty if the trace is generated."""
    generated: Generated | None = None

    def located(self, directory: Path) -> str:
        """What a cell calls the trace, if generated ones lie in a directory."""
        return str((directory / f"{self.name}.csv").absolute()) if self.generated else self.text


@dataclass(frozen=True, slots=True)
class Chosen:
    """A policy with settings, and in which semantics it is wanted."""

    name: str
    settings: tuple[tuple[str, Any], ...] = ()
    only: tuple[str | None, ...] | None = None
    """None: in all semantics of the experiment."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A matrix of cells, read from a file."""

    name: str
    out: Path
    sources: tuple[Source, ...]
    clusters: Mapping[str, tuple[str, ...]]
    """By the name of the trace."""
    policies: tuple[Chosen, ...]
    parameters: Mapping[str, Sequence[Any]]
    """Of a cell, each with its values."""
    remarks: tuple[str, ...] = ()
    """What the user should know."""

    def cells(self, traces: Path) -> list[Cell]:
        """Every combination, if the generated traces lie in a directory."""
        terms = [
            dict(zip(self.parameters, values, strict=True))
            for values in itertools.product(*self.parameters.values())
        ]
        return [
            Cell(
                trace=source.located(traces),
                cluster=cluster,
                policy=policy.name,
                settings=policy.settings,
                **term,
            )
            for source in self.sources
            for cluster in self.clusters[source.name]
            for policy in self.policies
            for term in terms
            if policy.only is None or term["compat"] in policy.only
        ]

    def write_traces(self, directory: Path) -> None:
        """Write the generated traces into a directory."""
        for source in self.sources:
            if source.generated is not None:
                source.generated.write(directory)

    def at(self, out: Path | None) -> Experiment:
        """The same experiment with its results elsewhere."""
        return self if out is None else replace(self, out=out)
