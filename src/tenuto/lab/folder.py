"""An experiment's directory: which cells belong to it, and which of them are there."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import InputInvalid, Place
from tenuto.lab.experiment import TRACES, Experiment
from tenuto.lab.results import Result, load_result
from tenuto.lab.run import Prepared, prepare
from tenuto.lab.task import CELLS
from tenuto.sim.whole_file import whole_file

CONTENTS = "experiment.json"
"""Names the cells of the experiment that was run here last, in its order."""


@dataclass(frozen=True)
class Contents:
    """What an experiment's directory holds."""

    name: str
    results: tuple[Result, ...]
    missing: int
    """Cells that have not been run to the end."""


def check_experiment(experiment: Experiment) -> Prepared:
    """Find and check all cells without leaving anything behind."""
    with tempfile.TemporaryDirectory() as elsewhere:
        experiment.write_traces(Path(elsewhere))
        return prepare(experiment.cells(Path(elsewhere)), experiment.out)


def settle_experiment(experiment: Experiment, checked: Prepared) -> Prepared:
    """Write the generated traces and a note of all cells, before they are run."""
    prepared = checked
    if any(source.generated is not None for source in experiment.sources):
        experiment.write_traces(experiment.out / TRACES)
        prepared = prepare(experiment.cells(experiment.out / TRACES), experiment.out)
    note = {"name": experiment.name, "cells": [task.folder.name for task in prepared.tasks]}
    with whole_file(experiment.out / CONTENTS) as stream:
        stream.write(json.dumps(note, indent=2) + "\n")
    return prepared


def read_contents(out: Path) -> Contents:
    """Everything that is finished; without a note of what belongs to the experiment, all cells do."""
    folders = sorted(path for path in (out / CELLS).glob("*") if path.is_dir())
    name = out.absolute().name
    try:
        noted = json.loads((out / CONTENTS).read_text(encoding="utf-8"))
        name, folders = noted["name"], [out / CELLS / cell for cell in noted["cells"]]
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputInvalid(
            f"cannot be read ({error})",
            remedy="Run the experiment again; what is finished stays",
            place=Place(str(out / CONTENTS)),
        ) from None
    results = [result for folder in folders if (result := load_result(folder)) is not None]
    if not results:
        raise InputInvalid(
            "there is no finished cell of an experiment here",
            remedy="Name the directory that `tenuto lab run` wrote",
            place=Place(str(out)),
        )
    return Contents(name, tuple(results), len(folders) - len(results))
