"""A multilayer perceptron learns to tell three spirals apart."""

import argparse
import math

import tenuto
import torch
from torch import nn
from torch.nn import functional
from torch.utils import data


def spirals(points: int = 6000) -> data.TensorDataset:
    """Points in the plane, each on one of three spirals."""
    chance = torch.Generator().manual_seed(0)
    arm = torch.randint(3, (points,), generator=chance)
    along = torch.rand(points, generator=chance)
    angle = 4 * along + arm * 2 * math.pi / 3
    where = along[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
    return data.TensorDataset(where + 0.02 * torch.randn(points, 2, generator=chance), arm)


def main() -> None:
    """Train, and keep the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()

    torch.manual_seed(0)
    dataset = spirals()
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    run = tenuto.init()
    model, optimizer, batches = run.elastic(model, optimizer, dataset, global_batch=args.batch, epochs=args.epochs)
    for x, y in batches:
        loss = functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(loss=loss)
    run.finish(model)


if __name__ == "__main__":
    main()
