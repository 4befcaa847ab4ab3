"""A training script as a user would write it, on a model that remembers which samples it has seen how often.

Parameter i of `seen` gets a gradient from sample i only, so it counts. The rest is a small network; in float64, unless
a test wants otherwise.
"""

from __future__ import annotations

import json
import mmap
import os
import resource
import signal
import struct
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

import tenuto.sdk.run
from tenuto.sdk.pytorch import transfer

STAGE = Path(os.environ["STAGE"])
ME = os.environ.get("STAGE_NAME", "alone")
SAMPLES = int(os.environ.get("SAMPLES", "96"))
BATCH = int(os.environ.get("BATCH", "12"))
NORM = "NORM" in os.environ
KIND: torch.dtype = getattr(torch, os.environ.get("KIND", "float64"))
STEPS = int(os.environ.get("STEPS", "300"))


class Toy(nn.Module):
    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.seen = nn.Parameter(torch.zeros(SAMPLES, dtype=KIND))
        middle = nn.BatchNorm1d(8, dtype=KIND) if NORM else nn.Tanh()
        self.net = nn.Sequential(nn.Linear(4, 8, dtype=KIND), middle, nn.Linear(8, 1, dtype=KIND))
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, index: torch.Tensor, x: torch.Tensor) -> dict[str, torch.Tensor]:
        self.calls += 1
        return {"seen": self.seen[index], "guess": self.net(x).squeeze(-1)}


class Points(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(7)
        self.x = torch.randn(SAMPLES, 4, generator=generator, dtype=KIND)
        self.y = torch.sin(self.x.sum(1))

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[int, torch.Tensor, torch.Tensor]:
        return index, self.x[index], self.y[index]


def build() -> tuple[Toy, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    torch.manual_seed(int(os.environ.get("MODEL_SEED", str(os.getpid()))))  # the first member's counts
    model = Toy()
    if os.environ.get("OPTIMIZER") == "adam":
        optimizer: torch.optim.Optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        shapes = [lambda step: 0.99**step]
    else:
        counting = {"params": [model.seen], "lr": BATCH**2, "momentum": 0.0}  # makes each time a one
        groups: list[dict[str, Any]] = [{"params": model.net.parameters()}, counting]
        optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9)
        shapes = [lambda step: 0.99**step, lambda step: 1.0]
    return model, optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, shapes)


def limit() -> mmap.mmap | None:
    path = STAGE / "limit"
    if not path.exists():
        return None
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 8)


def main() -> None:
    if "DIE_IN_TRANSFER" in os.environ:
        die_in_transfer()
    run = tenuto.sdk.run.init(seed=3)
    model, optimizer, scheduler = build()
    elastic, optimizer, batches = run.elastic(
        model,
        optimizer,
        Points(),
        global_batch=BATCH,
        steps=STEPS,
        scheduler=scheduler,
        sync_batchnorm=NORM,
        most_per_worker=int(os.environ["MOST"]) if "MOST" in os.environ else None,
        checkpoint_every=int(os.environ["EVERY"]) if "EVERY" in os.environ else None,
    )
    bound = limit()
    with (STAGE / f"{ME}.steps").open("a", buffering=1) as log:
        for index, x, y in batches:
            while bound is not None and run.step >= struct.unpack("<q", bound[:8])[0]:
                time.sleep(0.001)
            optimizer.zero_grad()
            out = elastic(index, x)
            loss = ((out["guess"] - y) ** 2).mean() - out["seen"].mean() / BATCH
            loss.backward()
            misbehave(run)
            optimizer.step()
            scheduler.step()
            run.report(loss=loss)
            log.write(json.dumps(moment(run)) + "\n")
    sentence = run.finish(elastic)
    if run.rank == 0:
        final = {name: tensor.tolist() for name, tensor in elastic.state_dict().items()}
        final["sentence"] = sentence
        final["lr"] = [group["lr"] for group in optimizer.param_groups]
        (STAGE / f"{ME}.final").write_text(json.dumps(final))


def misbehave(run: tenuto.sdk.run.Run) -> None:
    """Die, be told to end, or hear nothing of the others at a certain step, if a test wishes so."""
    if os.environ.get("DIE_AFTER_BACKWARD") == str(run.step):
        os.kill(os.getpid(), signal.SIGKILL)
    if os.environ.get("TERM_AT") == str(run.step):
        os.kill(os.getpid(), signal.SIGTERM)
    if os.environ.get("DEAF_AT") == str(run.step):
        del os.environ["DEAF_AT"]
        run._session._hand.abort()  # type: ignore[union-attr]


def die_in_transfer() -> None:
    def dying(*_: object) -> None:
        (STAGE / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)

    transfer._Chain.pass_all_on = dying  # type: ignore[assignment]


def moment(run: tenuto.sdk.run.Run) -> dict[str, int]:
    return {
        "pid": os.getpid(),
        "step": run.step,
        "generation": run.generation,
        "rank": run.rank,
        "world": run.world,
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": len(list(Path("/proc/self/task").iterdir())),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


if __name__ == "__main__":
    try:
        main()
    except SystemExit:
        while "REFUSE_TO_LEAVE" in os.environ:
            time.sleep(0.01)
        raise
