"""A run that begins where another one ended: all it needs is in the checkpoint, and what does not fit is refused."""

from __future__ import annotations

import multiprocessing
import random
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from tests.sdk.logs import records_in
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

import tenuto
from tenuto.errors import InputInvalid


def dataset(samples: int = 40) -> TensorDataset:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, 8, generator=generator)
    return TensorDataset(x, (x.sum(1) > 0).long())


def network(middle: int = 16) -> nn.Module:
    return nn.Sequential(nn.Linear(8, middle), nn.BatchNorm1d(middle), nn.Dropout(), nn.Linear(middle, 2))


def train(directory: Path, *, steps: int, chance: int = 0, **changes: Any) -> dict[str, torch.Tensor]:
    """The weights after so many steps in all, of a loop in which each source of chance has a say."""
    random.seed(chance)
    numpy.random.seed(chance)  # noqa: NPY002 - what scripts use
    torch.manual_seed(chance)
    given = {"model": network(), "dataset": dataset(), "global_batch": 8, **changes}
    model = given.pop("model")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)
    run = tenuto.init(checkpoint_dir=directory / "kept", log_dir=directory / "log")
    model, optimizer, batches = run.elastic(
        model, optimizer, given.pop("dataset"), steps=steps, scheduler=scheduler, **given
    )
    try:
        for x, y in batches:
            noise = random.random() + float(numpy.random.random()) + float(torch.rand(()))  # noqa: NPY002
            optimizer.zero_grad()
            (noise * functional.cross_entropy(model(x), y)).backward()
            optimizer.step()
            scheduler.step()
            run.report(lr=optimizer.param_groups[0]["lr"])
    finally:
        run.finish(model)
    return dict(model.state_dict())


def checkpoints(directory: Path) -> list[str]:
    return sorted(path.name for path in (directory / "kept").glob("step-*"))


def test_two_runs_with_a_checkpoint_between_them_end_like_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = train(tmp_path / "ganz", steps=12)
    assert "going on" not in capsys.readouterr().err

    train(tmp_path / "geteilt", steps=7)
    resumed = train(tmp_path / "geteilt", steps=12, chance=99)

    assert all(torch.equal(resumed[name], whole[name]) for name in whole)
    assert capsys.readouterr().err == "going on from step 7, epoch 1\n"
    assert [
        record["step"] for record in records_in(tmp_path / "geteilt" / "log") if record["kind"] == "step"
    ] == [10]


def test_a_damaged_checkpoint_is_passed_over_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(tmp_path, steps=6, checkpoint_every=4)
    assert checkpoints(tmp_path) == ["step-000000000004", "step-000000000006"]
    state = tmp_path / "kept" / "step-000000000006" / "state.safetensors"
    state.write_bytes(state.read_bytes()[:-1] + b"!")

    train(tmp_path, steps=6)

    assert capsys.readouterr().err == "going on from step 4, epoch 0\n"
    (told,) = [record for record in records_in(tmp_path / "log") if record.get("why") == "damaged"]
    assert told["kind"] == "checkpoint"
    assert told["path"].endswith("step-000000000006")
    assert told["problem"] == "state.safetensors has changed since it was written"


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"dataset": dataset(48)}, "dataset"),
    ({"global_batch": 10}, "global_batch"),
    ({"model": network(17)}, "model/0.weight"),
]


@pytest.mark.parametrize(("change", "field"), OTHERS, ids=["dataset", "batch", "model"])
def test_the_state_of_another_training_is_refused_and_left_alone(
    tmp_path: Path, change: dict[str, Any], field: str
) -> None:
    train(tmp_path, steps=3)

    with pytest.raises(InputInvalid) as refused:
        train(tmp_path, steps=9, **change)

    assert refused.value.field == field
    assert "another checkpoint directory" in refused.value.remedy
    assert checkpoints(tmp_path) == ["step-000000000003"]


def test_no_process_of_a_loader_outlives_its_run(tmp_path: Path) -> None:
    train(tmp_path, steps=3, loader_workers=1)

    assert multiprocessing.active_children() == []
