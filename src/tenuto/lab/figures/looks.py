"""How a policy looks in every picture: always the same colour, hatch, marker and name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from tenuto.sim.picture import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW

LIGHT_GREY = "#b3b3b3"
DASHES = (0, (6, 2))


@dataclass(frozen=True, slots=True)
class Look:
    """Colours are Okabe and Ito's; hatch, marker and dashes tell bars and lines apart without colour."""

    label: str
    colour: str
    hatch: str = ""
    marker: str = "o"
    dash: object = "-"


LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        "edf": Look("EDF", GREY, marker="s", dash=(0, (2, 1))),
        "edf-admission": Look("EDF + admission control", YELLOW, hatch="//", marker="D", dash=DASHES),
        "gandiva": Look("Gandiva", SKY, hatch="\\\\", marker="v", dash=(0, (3, 1, 1, 1))),
        "tiresias": Look("Tiresias", GREEN, hatch="..", marker="^", dash=(0, (5, 1))),
        "themis": Look("Themis", YELLOW, hatch="//", marker="D", dash=(0, (3, 1, 1, 1, 1, 1))),
        "chronus": Look("Chronus", PINK, hatch="xx", marker="P", dash=DASHES),
        "chronus-greedy": Look("Chronus (greedy)", PINK, hatch="xx", marker="P", dash=DASHES),
        "pollux": Look("Pollux", ORANGE, hatch="--", marker="X", dash=(0, (2, 1))),
        "elasticflow-no-admission": Look(
            "EDF + elastic scaling", SKY, hatch="\\\\", marker="v", dash=(0, (3, 1, 1, 1))
        ),
        "elasticflow": Look("ElasticFlow", BLUE, marker="o"),
        "submitted": Look("submitted", LIGHT_GREY),
        "admitted": Look("admitted", BLUE),
    }
)


def look_of(series: str) -> Look:
    """How a series looks; what we do not know is black."""
    return LOOKS.get(series, Look(series, "black", hatch="++", marker="*"))
