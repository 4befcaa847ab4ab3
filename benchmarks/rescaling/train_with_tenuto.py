"""The training under tenuto: the five lines, and the log of steps."""

from __future__ import annotations

from torch.nn.functional import mse_loss

import tenuto
from rescaling.training import GLOBAL_BATCH, Endless, StepLog, build


def main() -> None:
    run = tenuto.init()
    model, optimizer = build()
    model, optimizer, batches = run.elastic(model, optimizer, Endless(), global_batch=GLOBAL_BATCH)
    log, seen = StepLog(), run.step
    for x, y in batches:
        optimizer.zero_grad()
        mse_loss(model(x), y).backward()
        optimizer.step()
        if run.step > seen:
            log.step(run.world, run.generation, run.rank)
            seen = run.step


if __name__ == "__main__":
    main()
