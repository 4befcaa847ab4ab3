"""Stand-ins learn, and give the same gradients however a batch is split."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tenuto.errors import InputInvalid
from tenuto.workloads.parts import with_data
from tenuto.workloads.registry import FILES, WORKLOADS, Workload, workload_called

each_workload = pytest.mark.parametrize("workload", WORKLOADS.values(), ids=WORKLOADS.keys())


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


@each_workload
def test_its_loss_falls(workload: Workload) -> None:
    parts = workload.build()
    optimizer = torch.optim.Adam(parts.model.parameters(), lr=5e-3)
    x, y = parts.dataset[:32]
    losses = []
    for _ in range(20):
        loss = parts.loss(parts.model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    assert losses[-1] < losses[0]


@each_workload
def test_shares_of_a_batch_weighted_by_samples_give_the_gradient_of_the_whole(workload: Workload) -> None:
    parts = workload.build()
    model = parts.model.double()
    x, y = (tensor.double() if tensor.is_floating_point() else tensor for tensor in parts.dataset[:12])

    def gradient(start: int, stop: int) -> torch.Tensor:
        model.zero_grad()
        parts.loss(model(x[start:stop]), y[start:stop]).backward()
        return torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None])

    shares = (gradient(0, 7) * 7 + gradient(7, 12) * 5) / 12

    torch.testing.assert_close(shares, gradient(0, 12), rtol=0, atol=1e-9)


@each_workload
def test_every_weight_takes_part(workload: Workload) -> None:
    """One that does not would make DistributedDataParallel wait for it."""
    parts = workload.build()
    x, y = parts.dataset[:2]

    parts.loss(parts.model(x), y).backward()

    assert all(weight.grad is not None for weight in parts.model.parameters())


def test_it_learns_from_a_folder_of_data(tmp_path: Path) -> None:
    parts = workload_called("ncf").build()
    for name, tensor in zip(FILES, parts.dataset[:10], strict=True):
        np.save(tmp_path / name, tensor.numpy())

    given = with_data(parts, tmp_path)

    assert len(given.dataset) == 10
    assert torch.equal(given.dataset[3][0], parts.dataset[3][0])


def test_data_of_another_shape_is_refused_with_both_shapes(tmp_path: Path) -> None:
    parts = workload_called("ncf").build()
    np.save(tmp_path / FILES[0], np.zeros((10, 3), dtype=np.int64))
    np.save(tmp_path / FILES[1], np.zeros(10, dtype=np.float32))

    with pytest.raises(InputInvalid, match="samples are 3 of int64, the model takes 2 of int64"):
        with_data(parts, tmp_path)


def test_inputs_without_targets_are_refused(tmp_path: Path) -> None:
    parts = workload_called("ncf").build()
    np.save(tmp_path / FILES[0], np.zeros((10, 2), dtype=np.int64))
    np.save(tmp_path / FILES[1], np.zeros(9, dtype=np.float32))

    with pytest.raises(InputInvalid, match="hold 10 and 9 samples"):
        with_data(parts, tmp_path)


def test_a_file_that_is_no_array_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILES[0]).write_text("nonsense")

    with pytest.raises(InputInvalid, match=r"inputs\.npy: it cannot be read"):
        with_data(workload_called("ncf").build(), tmp_path)
