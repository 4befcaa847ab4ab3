"""What all pictures share: colours, a blank figure, and a file that appears whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid, Place
from tenuto.sim.whole_file import written_beside

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")

# Okabe and Ito's colours: told apart by every kind of eye, and in grey.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
SKY, YELLOW, PINK = "#56B4E9", "#E69F00", "#CC79A7"


def check_picture(path: Path) -> None:
    """Refuse a file name that no picture can have, before any work is done for it."""
    if path.suffix.lower() not in SUFFIXES:
        raise InputInvalid(
            f"a picture cannot be written as {path.suffix or 'a file without suffix'}",
            remedy=f"End the name in {' or '.join(SUFFIXES)}",
            place=Place(str(path)),
        )


def check_drawing() -> None:
    """Refuse to draw where matplotlib is missing, before any work is done for it."""
    # Imported here, because it takes longer than everything else that a command does.
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InputInvalid(
            "pictures need matplotlib, which is not installed", remedy="Install it: pip install 'tenuto[lab]'"
        ) from None


def blank_figure(path: Path, size: tuple[float, float]) -> Figure:
    """Begin a picture for a file."""
    check_picture(path)
    check_drawing()
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save(figure: Figure, path: Path, data: str | None = None) -> None:
    """Write a picture; the same data give the same bytes. An SVG file also carries the data if they are given."""
    import matplotlib as mpl

    # Without the date and with fixed names inside.
    undated = {"Date": None, "Description": data} if path.suffix.lower() == ".svg" else None
    with written_beside(path) as part, mpl.rc_context({"svg.hashsalt": "tenuto"}):
        figure.savefig(part, dpi=120, metadata=undated)
