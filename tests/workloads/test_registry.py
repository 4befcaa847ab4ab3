"""Every model name of a trace resolves, and data that is missing is told before anything starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tenuto.errors import InputInvalid, NotFound
from tenuto.sim.library import bundled
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.workloads.registry import DATA, FILES, WORKLOADS, data_of, workload_called

BERT = workload_called("bert")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of data, as far as one can tell from outside."""
    below = tmp_path / "데이터" / BERT.folder
    below.mkdir(parents=True)
    for name in FILES:
        (below / name).touch()
    return below


@pytest.mark.parametrize("trace", sorted(bundled()))
def test_every_model_of_a_bundled_trace_resolves(trace: str) -> None:
    models = set(read_trace(Path(bundled()[trace].path)).models)

    assert models <= WORKLOADS.keys()
    assert models


def test_every_model_of_the_public_traces_resolves(shared: Path) -> None:
    files = sorted((shared / "data" / "traces").rglob("*.csv"))

    for file in files:
        assert set(read_trace(file).models) <= WORKLOADS.keys(), file
    assert len(files) > 10


@pytest.mark.parametrize("profiles", ["a100", "t4"])
def test_every_model_of_the_profiles_resolves(profiles: str) -> None:
    assert set(load_profiles(profiles).models()) <= WORKLOADS.keys()


def test_a_name_that_nobody_knows_is_refused_with_a_suggestion() -> None:
    with pytest.raises(NotFound, match="Did you mean resnet50"):
        workload_called("resnet5")


def test_without_a_word_data_is_synthetic() -> None:
    assert data_of(BERT, environ={}) is None


def test_the_data_of_an_option_wins_over_that_of_the_configuration(folder: Path) -> None:
    assert data_of(BERT, environ={DATA: str(folder.parent)}) == folder
    assert data_of(BERT, str(folder), environ={DATA: "/nowhere"}) == folder


def test_a_directory_that_is_missing_is_told_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"there is no .*/nowhere.*leave --data out"):
        data_of(BERT, str(tmp_path / "nowhere"))
    with pytest.raises(InputInvalid, match=rf"there is no .*/bert. Put it there, or unset {DATA}"):
        data_of(BERT, environ={DATA: str(tmp_path)})


def test_a_file_that_is_missing_is_told(folder: Path) -> None:
    (folder / "targets.npy").unlink()

    with pytest.raises(InputInvalid, match=r"there is no .*/targets\.npy"):
        data_of(BERT, str(folder))


def test_training_refuses_missing_data_before_it_starts(tmp_path: Path) -> None:
    """Without torch, even: the answer comes before anything heavy is imported."""
    program = (
        "import sys; sys.modules['torch'] = None\nfrom tenuto.workloads.train import main\nsys.exit(main())"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, "bert", "--data", str(tmp_path / "nowhere")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (told.returncode, told.stdout) == (InputInvalid.exit_code, "")
    assert "the data of bert is missing" in told.stderr
