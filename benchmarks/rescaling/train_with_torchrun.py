"""The training under torchrun: processes are restarted whenever the group changes, from the last checkpoint."""

from __future__ import annotations

import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel

from rescaling.training import GLOBAL_BATCH, StepLog, build, samples

_EVERY = 20
"""Steps between two checkpoints."""


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model, optimizer = build()
    kept = Path(os.environ["RESCALE_LOG"]).parent / "checkpoint.pt"
    if kept.exists():
        state = torch.load(kept, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    wrapped = DistributedDataParallel(model)
    log, x_y, step = StepLog(), samples(GLOBAL_BATCH // world), 0
    tag = os.environ["MASTER_PORT"]  # another one for every group
    while True:
        optimizer.zero_grad()
        mse_loss(wrapped(x_y[0]), x_y[1]).backward()
        optimizer.step()
        step += 1
        log.step(world, tag, rank)
        if rank == 0 and step % _EVERY == 0:
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, kept.with_suffix(".new")
            )
            kept.with_suffix(".new").replace(kept)


if __name__ == "__main__":
    main()
