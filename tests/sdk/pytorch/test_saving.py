"""What is saved is loaded again to the bit, and loading executes nothing."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import torch
from torch import nn

from tenuto.sdk.checkpoints import Checkpoints
from tenuto.sdk.pytorch import saving
from tenuto.sdk.pytorch.state import TrainingState


def test_a_state_comes_back_to_the_bit(tmp_path: Path) -> None:
    base = torch.randn(4, 6, dtype=torch.float64)
    state = TrainingState(
        tensors={
            "model/größe": base,
            "model/tied": base,
            "model/part": base[1:3],
            "model/turned": base.t(),
            "model/grad": torch.ones(2, requires_grad=True),
            "bf16": torch.randn(3).bfloat16(),
            "scalar": torch.tensor(7),
            "empty": torch.empty(0, 3),
            "empty too": torch.empty(0, 3),
            "rng": torch.get_rng_state(),
            "nan": torch.tensor([float("nan"), float("inf")]),
        },
        facts={"step": 12, "lr": 0.1, "name": "größe", "best": float("inf"), "nested": {"a": [1, None]}},
    )

    saving.write_state(tmp_path, state)
    found = saving.read_state(tmp_path)

    assert found.facts == state.facts
    assert found.tensors.keys() == state.tensors.keys()
    for name, tensor in state.tensors.items():
        assert found.tensors[name].dtype == tensor.dtype
        assert torch.equal(found.tensors[name].nan_to_num(), tensor.detach().nan_to_num()), name
    assert found.tensors["model/tied"].data_ptr() == found.tensors["model/größe"].data_ptr()


def test_a_state_fits_into_a_checkpoint(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    state = TrainingState(tensors={"w": torch.arange(5.0)}, facts={"step": 3})

    checkpoints.write(3, lambda directory: saving.write_state(directory, state))

    newest = checkpoints.newest()
    assert newest is not None
    assert saving.read_state(newest).tensors["w"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]


class Trap:
    """Whoever unpickles this is caught."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('executed')",)


@pytest.mark.parametrize("file", [saving.TENSORS, saving.FACTS])
def test_a_pickle_in_a_checkpoint_is_refused_not_executed(tmp_path: Path, file: str) -> None:
    saving.write_state(tmp_path, TrainingState(tensors={"w": torch.ones(1)}, facts={}))
    (tmp_path / file).write_bytes(pickle.dumps(Trap()))

    with pytest.raises(Exception, match=r"header|utf-8|Expecting|decode"):
        saving.read_state(tmp_path)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 3)
        self.out = nn.Linear(3, 7, bias=False)
        self.out.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(3)


def test_an_exported_model_is_one_file_that_fits_the_same_model(tmp_path: Path) -> None:
    model, other = Tied(), Tied()
    wrapped = nn.ModuleDict({"module": model})

    path = saving.export_model(tmp_path / "export", wrapped["module"])
    saving.load_model(path, other)

    assert path == tmp_path / "export" / saving.MODEL
    assert [file.name for file in path.parent.iterdir()] == [saving.MODEL]
    for name, tensor in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], tensor)


def test_facts_are_readable_by_people(tmp_path: Path) -> None:
    saving.write_state(tmp_path, TrainingState(tensors={}, facts={"step": 3}))

    assert json.loads((tmp_path / saving.FACTS).read_text(encoding="utf-8")) == {"step": 3}
    assert saving.read_state(tmp_path).tensors == {}
