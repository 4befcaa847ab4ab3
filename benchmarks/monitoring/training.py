"""A training of a million parameters that writes down when each step ended and how long it took.

training.py SECONDS FILE
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import mse_loss
from torch.utils.data import TensorDataset

import tenuto

WIDTH, BATCH, WARM_UP = 512, 32, 50


def main(seconds: float, told: Path) -> None:
    """Train for so long."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    x = torch.randn(BATCH * 100, WIDTH)
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    run = tenuto.init()
    data = TensorDataset(x, x.flip(1))
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=BATCH, epochs=100_000)
    steps, before = [], time.perf_counter()
    enough = before + seconds
    for given, wanted in batches:
        loss = mse_loss(model(given), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(loss=loss)
        now = time.perf_counter()
        steps.append((time.time(), now - before))
        before = now
        if now > enough:
            break
    told.write_text(json.dumps(steps[WARM_UP:]), encoding="utf-8")
    run.finish()


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]))
