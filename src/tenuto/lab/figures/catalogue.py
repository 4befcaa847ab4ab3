"""Every figure that can be drawn: settings as in the paper, or as close as what was published allows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tenuto.lab.figures.bars import draw_groups, draw_one_each
from tenuto.lab.figures.figure import Figure, Group
from tenuto.lab.figures.lines import draw_shares
from tenuto.lab.figures.published import (
    BEST_EFFORT_JCT,
    BEST_EFFORT_RATIO,
    CLUSTERS,
    INGREDIENTS,
    POLLUX_WORKLOAD,
    SHARES,
    TESTBED_25,
    TESTBED_195,
)
from tenuto.lab.figures.sources import GeneratedTrace, PublicTrace
from tenuto.lab.figures.steps import draw_counts, draw_steps
from tenuto.lab.figures.tabulate import BestEffort, Ratios, admissions, allocation, both, efficiency
from tenuto.sim.generate import GeneratorOptions

SIX = ("edf", "gandiva", "tiresias", "themis", "chronus", "elasticflow")
SEVEN = (*SIX[:-1], "pollux", SIX[-1])
# On traces of thousands of jobs the integer programs take too long.
SIX_FOR_LARGE_TRACES = ("edf", "gandiva", "tiresias", "themis", "chronus-greedy", "elasticflow")
FOUR = ("edf", "edf-admission", "elasticflow-no-admission", "elasticflow")

SIMULATED = "Simulated; the paper measured this on a testbed."
OWN_DRAW = "Deadlines are our seeded draw; the authors' was not kept."

# Which trace ran on which cluster is taken from the scripts, except for Philly: there they name n32g8, but the
# published bars belong to n4g8.
_SIZES = {4: "n128g8", 7: "n128g8", 8: "n128g8", 9: "n128g8", 10: "n32g8"}

_TESTBED = Group("195 jobs", PublicTrace("195job"), "n16g8")
# In a burst, so that they are in each other's way.
_STAND_IN = GeneratedTrace("figure-6a-stand-in", GeneratorOptions(jobs=25, mean_interarrival=30))
_THOUSAND = GeneratedTrace("figure-9", GeneratorOptions(jobs=1000, mean_interarrival=1500))
_HUNDRED = GeneratedTrace(
    "figure-10", GeneratorOptions(jobs=100, mean_interarrival=1500, min_tightness=1.5, seed=1)
)
_MIXED = {
    share: GeneratedTrace(
        f"figure-11-{share}",
        GeneratorOptions(jobs=200, mean_interarrival=900, best_effort_share=float(share)),
    )
    for share in SHARES
}

_ALL = (
    Figure(
        name="6a",
        title="Figure 6(a): deadlines met, a stand-in for the 25 jobs on 32 A100",
        groups=(Group("25 jobs", _STAND_IN, "n4g8"),),
        policies=SEVEN,
        slot=240.0,
        tabulate=Ratios(TESTBED_25),
        draw=draw_one_each,
        remarks=(SIMULATED, "The trace was never published; these are 25 jobs of our generator."),
    ),
    Figure(
        name="6b",
        title="Figure 6(b): deadlines met, 195 jobs on 128 A100",
        groups=(_TESTBED,),
        policies=SIX,
        slot=240.0,
        tabulate=Ratios(TESTBED_195),
        draw=draw_one_each,
        remarks=(SIMULATED,),
    ),
    Figure(
        name="7a",
        title="Figure 7(a): GPUs in use, 195 jobs on 128 A100",
        groups=(_TESTBED,),
        policies=SIX,
        slot=240.0,
        tabulate=allocation,
        draw=draw_steps,
        size=(11.0, 4.5),
        remarks=(SIMULATED,),
    ),
    Figure(
        name="7b",
        title="Figure 7(b): jobs submitted and admitted by ElasticFlow, 195 jobs on 128 A100",
        groups=(_TESTBED,),
        policies=("elasticflow",),
        slot=240.0,
        tabulate=admissions,
        draw=draw_counts,
        size=(11.0, 4.5),
        remarks=(SIMULATED,),
    ),
    Figure(
        name="8a",
        title="Figure 8(a): deadlines met, 195 jobs on 64 T4",
        groups=(Group("195 jobs", PublicTrace("elasticVpollux_e"), "n16g4"),),
        policies=SEVEN,
        slot=60.0,
        profiles="t4",
        tabulate=Ratios(POLLUX_WORKLOAD),
        draw=draw_one_each,
    ),
    Figure(
        name="8b",
        title="Figure 8(b): deadlines met on the public cluster traces",
        groups=(
            *(Group(str(k), PublicTrace(f"cluster{k:02}"), _SIZES.get(k, "n64g8")) for k in range(1, 11)),
            Group("Philly", PublicTrace("philly_103959"), "n4g8"),
        ),
        policies=SIX_FOR_LARGE_TRACES,
        slot=60.0,
        tabulate=Ratios(CLUSTERS, x_label="trace"),
        draw=draw_groups,
        size=(15.0, 5.0),
        remarks=("Clusters: n64g8, but n128g8 for 4, 7, 8 and 9, n32g8 for 10, and n4g8 for Philly.",),
    ),
    Figure(
        name="9",
        title="Figure 9: what admission control and elasticity each contribute, 1,000 jobs",
        groups=tuple(Group(str(nodes * 8), _THOUSAND, f"n{nodes}g8") for nodes in (8, 16, 32)),
        policies=FOUR,
        slot=240.0,
        tabulate=Ratios(INGREDIENTS, x_label="GPUs"),
        draw=draw_groups,
        size=(9.0, 4.5),
        remarks=(OWN_DRAW,),
    ),
    Figure(
        name="10",
        title="Figure 10: cluster efficiency, 100 jobs on 128 A100",
        groups=(Group("100 jobs", _HUNDRED, "n16g8"),),
        policies=SIX,
        slot=240.0,
        tabulate=efficiency,
        draw=draw_steps,
        size=(11.0, 4.5),
    ),
    Figure(
        name="11",
        title="Figure 11: jobs with and without a deadline, 200 jobs on 64 A100",
        groups=tuple(Group(share, trace, "n8g8") for share, trace in _MIXED.items()),
        policies=SIX,
        indispensable=("gandiva",),
        slot=240.0,
        tabulate=both(
            Ratios(BEST_EFFORT_RATIO, "jobs without a deadline", "a", "(a) deadlines met"),
            BestEffort(
                "gandiva",
                BEST_EFFORT_JCT,
                "jobs without a deadline",
                "b",
                "(b) how much sooner jobs without a deadline finish",
            ),
        ),
        draw=draw_shares,
        size=(12.5, 4.8),
        remarks=("Deadlines and best-effort marks are our seeded draw; the authors' was not kept.",),
    ),
)

FIGURES: Mapping[str, Figure] = MappingProxyType({figure.name: figure for figure in _ALL})
