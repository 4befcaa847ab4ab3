"""What somebody may ask the laboratory for: traces, policies, figures; and what must be installed for the rest."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from math import isfinite

from tenuto.errors import InputInvalid
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.sources import PublicTrace
from tenuto.lab.orders import INPUTS, FigureOrder, ReplayOrder
from tenuto.model.snapshot import Placement
from tenuto.plugins import all_policies, lack
from tenuto.sim.data_home import home
from tenuto.sim.library import Entry, Library, bundled

UPLOAD = "upload"
PAST: Mapping[str, str] = {"30d": "Our own last month", "7d": "Our own last week", "1d": "Our own last day"}
"""How far back the platform's own history can be replayed, as the API takes it."""
OWN, NAMED, OF_THE_TIME = "own", "named", "of-the-time"
"""Which cluster: that of now, one by its name, or the one that was there."""
PLACEMENTS = tuple(str(placement) for placement in Placement)
PROFILES = ("a100", "t4")
SEMANTICS: Mapping[str, str] = {
    "": "ours",
    "artifact": "the reference's",
    "artifact-2022": "the reference's of 2022",
}
ALL = "all"
OWN_CLUSTER = "our-nodes.yaml"
MOST_BYTES = 20_000_000
"""Of a trace that is uploaded."""
_CLUSTER = re.compile(r"\w{1,40}")
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class PolicyOffer:
    """A policy, and what keeps it from being used here."""

    name: str
    about: str
    lack: str


@dataclass(frozen=True, slots=True)
class FigureOffer:
    """A figure, and the traces for it that are not there."""

    name: str
    title: str
    traces: int
    """How many it is drawn from."""
    missing: tuple[str, ...]

    @property
    def possible(self) -> bool:
        """Whether there is anything to draw."""
        return len(self.missing) < self.traces


@dataclass(frozen=True, slots=True)
class Offers:
    """Everything that can be asked for."""

    traces: tuple[Entry, ...]
    policies: tuple[PolicyOffer, ...]
    figures: tuple[FigureOffer, ...]
    drawing: str
    """What to install so that pictures can be drawn; nothing if they can."""
    trouble: str = ""
    """Why the user's own traces are not among them."""


def look_around() -> Offers:
    """Find out what there is. Reads files."""
    trouble = ""
    try:
        entries = tuple(Library(home(os.environ)).entries())
    except InputInvalid as error:  # the traces that come with tenuto are there all the same
        entries, trouble = tuple(bundled().values()), str(error)
    there = {entry.name for entry in entries}
    policies = tuple(
        PolicyOffer(policy.name, policy.summary, str(lack(policy) or ""))
        for policy in all_policies().values()
    )
    figures = []
    for figure in FIGURES.values():
        traces = {group.trace.name: group.trace for group in figure.groups}
        missing = tuple(
            name for name, trace in traces.items() if isinstance(trace, PublicTrace) and name not in there
        )
        figures.append(FigureOffer(figure.name, figure.title, len(traces), missing))
    drawing = "" if find_spec("matplotlib") else "Pictures need matplotlib: pip install 'tenuto[lab]'"
    return Offers(entries, policies, tuple(figures), drawing, trouble)


@dataclass(slots=True, kw_only=True)
class Wish:
    """A replay as the form holds it."""

    trace: str
    """The name of a trace of the library, a key of PAST, or UPLOAD."""
    policies: set[str]
    cluster: str = NAMED
    cluster_name: str = "n8g8"
    profiles: str = PROFILES[0]
    placement: str = PLACEMENTS[0]
    slot: float | None = 60.0
    compat: str = ""
    file: str = ""
    """The name of the file that was uploaded."""

    @property
    def is_past(self) -> bool:
        """Whether the platform's own history is meant."""
        return self.trace in PAST

    @property
    def title(self) -> str:
        """What is replayed, and where, in a few words."""
        what = PAST.get(self.trace, stem(self.file) if self.trace == UPLOAD else self.trace)
        where = {OWN: "our nodes", OF_THE_TIME: "the nodes of that time"}.get(
            self.cluster, self.cluster_name.strip()
        )
        return f"{what} on {where}"

    @property
    def rules(self) -> str:
        """By which rules, in a few words."""
        if self.is_past:
            return "by the rules of the platform"
        semantics = f", {SEMANTICS[self.compat]} semantics" if self.compat else ""
        return f"slot {self.slot:g} s, placement {self.placement}, profiles {self.profiles}{semantics}"

    def order(self, offers: Offers) -> ReplayOrder:
        """Check it as far as a form can be checked, and write it as an order; files are those of `inputs`."""
        known = {policy.name for policy in offers.policies if not policy.lack}
        chosen = tuple(policy.name for policy in offers.policies if policy.name in self.policies & known)
        if not chosen:
            raise InputInvalid("no policy is chosen", remedy="Choose at least one")
        if self.trace == UPLOAD and not self.file:
            raise InputInvalid("no file is there yet", remedy="Choose a CSV file with a trace")
        if self.trace not in (UPLOAD, *PAST) and self.trace not in {entry.name for entry in offers.traces}:
            raise InputInvalid(f"there is no trace {self.trace!r}", remedy="Choose one of the list")
        everybody = len(chosen) == len(known)
        if self.is_past:
            return ReplayOrder(trace="", policies=(ALL,) if everybody else chosen, cluster=self._cluster())
        if self.slot is None or not isfinite(self.slot) or self.slot < 0:
            raise InputInvalid("the slot is no number of seconds", remedy="Write 60, or another number")
        return ReplayOrder(
            trace=f"{INPUTS}/{kept_as(self.file)}" if self.trace == UPLOAD else self.trace,
            policies=(ALL,) if everybody else chosen,
            cluster=self._cluster(),
            profiles=self.profiles if self.profiles in PROFILES else PROFILES[0],
            placement=self.placement,
            slot=self.slot,
            compat=self.compat or None,
        )

    def _cluster(self) -> str:
        if self.cluster == OF_THE_TIME and self.is_past:
            return ""
        if self.cluster == OWN:
            return f"{INPUTS}/{OWN_CLUSTER}"
        name = self.cluster_name.strip()
        if not _CLUSTER.fullmatch(name):  # a path would be one of the server's
            raise InputInvalid(
                f"{name!r} is no cluster",
                remedy="Write n16g8 or 16x8 for nodes and slots, or 2x32x8 with switches before",
            )
        return name


def kept_as(file: str) -> str:
    """The name under which an uploaded file is kept; what it ends in tells how it is read."""
    return stem(file) + (".txt" if file.lower().endswith(".txt") else ".csv")


def stem(file: str) -> str:
    """The name of an uploaded file as a name of ours, without what a directory or a shell would mind."""
    name = file.rsplit(".", 1)[0] if "." in file else file
    return re.sub(r"[^\w.+-]", "_", name).strip(".")[:_LONGEST_NAME] or "trace"


def figure_order(name: str, compat: str, *, without_pollux: bool, offers: Offers) -> FigureOrder:
    """Ask for a figure; policies that lack something here are left out."""
    figure = FIGURES[name]
    lacking = {policy.name for policy in offers.policies if policy.lack}
    absent = {policy for policy in figure.policies if policy in lacking}
    if without_pollux and "pollux" in figure.policies:
        absent.add("pollux")
    needed = absent & set(figure.indispensable)
    if needed:
        raise InputInvalid(
            f"figure {name} is told relative to {', '.join(needed)}", remedy="Install what it needs"
        )
    return FigureOrder(figure=name, compat=compat or None, without=tuple(sorted(absent)))
