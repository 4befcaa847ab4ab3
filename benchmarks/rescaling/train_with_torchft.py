"""The training under torchft: every worker is a replica of its own; newcomers get the state from one that is there."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from typing import Any

from torch.distributed import TCPStore
from torch.nn.functional import mse_loss
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

from rescaling.training import GLOBAL_BATCH, StepLog, build, samples


def main() -> None:
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
    model, plain = build()
    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)

    def state() -> dict[str, Any]:
        return {"model": model.state_dict(), "optimizer": plain.state_dict()}

    def load(given: dict[str, Any]) -> None:
        model.load_state_dict(given["model"])
        plain.load_state_dict(given["optimizer"])

    manager = Manager(
        pg=ProcessGroupGloo(timeout=timedelta(seconds=10)),
        min_replica_size=1,
        load_state_dict=load,
        state_dict=state,
        timeout=timedelta(seconds=10),
        rank=0,
        world_size=1,
        store_addr="127.0.0.1",
        store_port=store.port,
        replica_id=f"replica_{os.getpid()}",
        hostname="127.0.0.1",
    )
    wrapped, optimizer = DistributedDataParallel(manager, model), Optimizer(manager, plain)
    log, x_y = StepLog(), samples(GLOBAL_BATCH)
    while not told:
        optimizer.zero_grad()
        world = max(1, manager.num_participants())
        share = GLOBAL_BATCH // world
        mse_loss(wrapped(x_y[0][:share]), x_y[1][:share]).backward()
        before = manager.current_step()
        optimizer.step()
        if manager.current_step() > before:
            world = manager.num_participants()
            log.step(world, f"{world}-{manager._quorum_id}", manager.participating_rank() or 0)
    manager.shutdown(wait=False)
    os._exit(0)


if __name__ == "__main__":
    main()
