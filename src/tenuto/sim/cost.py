"""What changes cost in a replay."""

from __future__ import annotations

import json
import re
from math import inf, log2
from pathlib import Path

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.cost import Cost

_SECONDS = r"(\d{1,9}(?:\.\d+)?(?:e-?\d{1,2})?)"
_PAIR = re.compile(rf"{_SECONDS},{_SECONDS}", re.ASCII)
"""Seconds of a start and of a rescale, whatever the size."""
LARGE = 256
"""Slots from which on the reference charges a larger base."""


def load_cost(text: str, sizes: Ints, cluster: Cluster) -> Cost:
    """Find a cost model: `default`, `none`, `artifact`, two numbers such as `5,3`, or a JSON file."""
    match text:
        case "default":
            return Cost.by_size(sizes, lambda size: 2.0 + 2.0 * (log2(size) + 1.0))
        case "none":
            return Cost.by_size(sizes, lambda _: 0.0)
        case "artifact":
            base = 7.0 if cluster.total >= LARGE else 2.0
            return Cost.by_size(sizes, lambda size: base + 2.0 * (log2(size) + 1.0))
    if (pair := _PAIR.fullmatch(text)) is not None:
        start, rescale = (frozen(np.full(len(sizes), float(seconds))) for seconds in pair.groups())
        return Cost(start, rescale, rescale)
    path = Path(text)
    if not path.is_file():
        raise InputInvalid(
            f"no cost model and no file is called {text!r}",
            remedy="Use default, none, artifact, seconds for a start and for a rescale such as 5,3, or a JSON file "
            'such as {"start": {"1": 4, "8": 10}, "rescale": {"1": 2, "8": 3}}',
        )
    return _read(path, sizes)


def _read(path: Path, sizes: Ints) -> Cost:
    remedy = 'Write seconds by number of slots, e.g. {"start": {"1": 4, "8": 10}}'
    try:
        tables = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputInvalid(f"cannot be read ({error})", remedy=remedy, place=Place(str(path))) from None
    except json.JSONDecodeError as error:
        place = Place(str(path), error.lineno)
        raise InputInvalid(f"is not JSON: {error.msg}", remedy=remedy, place=place) from None
    if not isinstance(tables, dict) or not isinstance(tables.get("start"), dict):
        raise InputInvalid("has no table 'start'", remedy=remedy, place=Place(str(path)))
    for name in tables:
        if name not in ("start", "rescale", "move"):
            raise InputInvalid(
                f"has an unknown table {name!r}",
                remedy="Known are start, rescale, move",
                place=Place(str(path)),
            )
    start = _column(path, "start", tables["start"], sizes)
    rescale = _column(path, "rescale", tables.get("rescale", tables["start"]), sizes)
    move = _column(path, "move", tables.get("move", tables.get("rescale", tables["start"])), sizes)
    return Cost(start, rescale, move)


def _column(path: Path, name: str, table: object, sizes: Ints) -> Floats:
    """Seconds at each size; between measured sizes on a straight line, beyond them the nearest one."""
    place = Place(str(path), column=name)
    if not isinstance(table, dict) or not table:
        raise InputInvalid("is no table of seconds by slots", remedy='Write {"1": 4, "8": 10}', place=place)
    measured: dict[int, float] = {}
    for slots, seconds in table.items():
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        valid = slots.isdecimal() and int(slots) > 0 and number and 0 <= seconds < inf
        if not valid:
            raise InputInvalid(
                f"has an unusable entry {slots!r}: {seconds!r}",
                remedy="Slots are whole numbers above 0, seconds are 0 or more",
                place=place,
            )
        measured[int(slots)] = float(seconds)
    known = sorted(measured)
    return frozen(np.interp(sizes, known, [measured[slots] for slots in known]))
