"""Bars in pairs: what the paper has, and what was measured here. Times span decades, so the axis does too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenuto.lab.figures.looks import LIGHT_GREY
from tenuto.lab.figures.marks import DARK, FAINT, plain, svg_id
from tenuto.lab.figures.numbers import Panel
from tenuto.sim.picture import BLUE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_LABELS = {
    "resnet50": "ResNet-50",
    "vgg16": "VGG-16",
    "inception3": "Inception-v3",
    "gpt2": "GPT-2",
    "bert": "BERT",
    "deepspeech2": "DeepSpeech2",
}
_GROUP = 0.88
_ROOM = 60.0
"""Times the largest value: for the names above the bars."""
_OWN_HATCH = ""
_THEIR_HATCH = "//"


def draw_scaling(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """A group for each case, and in it one or two bars for each model."""
    (panel,) = panels
    axes = canvas.subplots()
    for place, case in enumerate(panel.places):
        bars = [
            (name, value, own)
            for one in panel.series
            for point in one.points
            if point.x == case
            for name, value, own in (
                (one.name, point.published, False),
                (one.name, point.value, True),
            )
            if value is not None and (own or published)
        ]
        width = _GROUP / max(len(bars), 8)
        for number, (name, value, own) in enumerate(bars):
            at = place + (number - (len(bars) - 1) / 2) * width
            _bar(axes, (at, width), value, BLUE if own else LIGHT_GREY, own=own)
            axes.patches[-1].set_gid(svg_id("bar", name, case, "measured" if own else "published"))
            _name(axes, at, value, _LABELS.get(name, name))
        axes.axvline(place - 0.5, color=FAINT, linewidth=0.6)
    axes.set_xticks(range(len(panel.places)), [str(place) for place in panel.places])
    axes.set_xlim(-0.5, len(panel.places) - 0.5)
    _finish(axes, panel, published=published)


def draw_profiling(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """One or two bars for each model."""
    (panel,) = panels
    axes = canvas.subplots()
    for place, one in enumerate(panel.series):
        (point,) = one.points
        bars = [(point.published, False), (point.value, True)]
        for offset, (value, own) in zip((-0.2, 0.2), bars, strict=True):
            if value is not None and (own or published):
                _bar(axes, (place + offset, 0.38), value, BLUE if own else LIGHT_GREY, own=own)
                axes.patches[-1].set_gid(svg_id("bar", one.name, "measured" if own else "published"))
                _name(axes, place + offset, value, "")
    axes.set_xticks(range(len(panel.series)), [_LABELS.get(one.name, one.name) for one in panel.series])
    axes.set_xlim(-0.6, len(panel.series) - 0.4)
    _finish(axes, panel, published=published)


def _bar(axes: Axes, stand: tuple[float, float], value: float, colour: str, *, own: bool) -> None:
    at, width = stand
    hatch = _OWN_HATCH if own else _THEIR_HATCH
    axes.bar([at], [value], width * 0.94, color=colour, edgecolor="white", linewidth=0.4, hatch=hatch)


def _name(axes: Axes, at: float, value: float, name: str) -> None:
    axes.annotate(
        f"{value:.3g} {name}".strip(),
        (at, value),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7,
        rotation=90 if name else 0,
    )


def _finish(axes: Axes, panel: Panel, *, published: bool) -> None:
    from matplotlib.patches import Patch

    values = [v for one in panel.series for p in one.points for v in (p.value, p.published) if v]
    axes.set_yscale("log")
    axes.set_ylim(min(values, default=0.1) / 3, max(values, default=1.0) * _ROOM)
    axes.tick_params(axis="x", length=0)
    plain(axes, panel)
    keys = [Patch(facecolor=BLUE, edgecolor="white", label="measured here")]
    if published:
        keys.insert(0, Patch(facecolor=LIGHT_GREY, edgecolor="white", hatch=_THEIR_HATCH, label="published"))
    axes.legend(
        handles=keys, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=2, frameon=False, fontsize=9
    )
    if panel.missing:
        axes.text(
            0.5,
            0.93,
            f"nothing measured here: {' and '.join(panel.missing)} is not there",
            transform=axes.transAxes,
            ha="center",
            color=DARK,
            bbox={"facecolor": "white", "edgecolor": DARK, "boxstyle": "round,pad=0.4"},
        )
