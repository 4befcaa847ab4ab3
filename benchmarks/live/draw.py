"""Bars as in Figure 6 of the ElasticFlow paper: deadlines met, live beside simulated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from benchmarks.live.run import Outcome

from tenuto.lab.figures.looks import look_of

WIDTH = 0.38


def draw(live: Sequence[Outcome], simulated: Sequence[Outcome], path: Path) -> None:
    """Two bars for each policy."""
    mpl.use("agg")
    from matplotlib import pyplot as plt

    canvas, axes = plt.subplots(figsize=(1.4 + 1.3 * len(live), 3.2), layout="constrained")
    for position, (trained, replayed) in enumerate(zip(live, simulated, strict=True)):
        colour = look_of(trained.policy).colour
        left = axes.bar(position - WIDTH / 2, trained.ratio, WIDTH, color=colour, edgecolor="black")
        right = axes.bar(
            position + WIDTH / 2, replayed.ratio, WIDTH, color="white", edgecolor=colour, hatch="//"
        )
        axes.bar_label(left, [f"{trained.met}"])
        axes.bar_label(right, [f"{replayed.met}"])
    axes.set_xticks(range(len(live)), [look_of(one.policy).label for one in live])
    axes.set(
        ylim=(0, 1.1),
        ylabel="share of deadlines met",
        title=f"{live[0].of} jobs. Left: trained live. Right: simulated.",
    )
    axes.spines[["top", "right"]].set_visible(False)
    canvas.savefig(path, dpi=110)
    plt.close(canvas)
