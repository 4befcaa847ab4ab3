"""`python -m tenuto.workloads.train NAME`: train a stand-in, alone, under torchrun or under tenuto."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tenuto
from tenuto.errors import TenutoError
from tenuto.workloads.registry import WORKLOADS, Workload, data_of, workload_called


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a user says."""

    workload: Workload
    folder: Path | None
    batch: int
    steps: int
    pace: float


def main() -> int:
    """Refuse what is wrong before anything starts, then train."""
    try:
        options = _options(sys.argv[1:])
        _train(options)
    except TenutoError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


def _options(arguments: list[str]) -> Options:
    parser = argparse.ArgumentParser(prog="python -m tenuto.workloads.train", description=__doc__)
    parser.add_argument("name", help=", ".join(WORKLOADS))
    parser.add_argument("--data", help="a folder with inputs.npy and targets.npy; synthetic data if left out")
    parser.add_argument("--batch", type=int, help="samples in a step over all workers")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument(
        "--pace", type=float, default=0.0, help="least seconds that a worker takes for a sample"
    )
    told = parser.parse_args(arguments)
    workload = workload_called(told.name)
    return Options(
        workload=workload,
        folder=data_of(workload, told.data),
        batch=told.batch or workload.batch,
        steps=told.steps,
        pace=told.pace,
    )


def _train(options: Options) -> None:
    import torch  # after the options were checked: it takes seconds

    from tenuto.workloads.parts import with_data

    torch.set_num_threads(1)
    torch.manual_seed(0)
    parts = options.workload.build()
    if options.folder is not None:
        parts = with_data(parts, options.folder)
    optimizer = torch.optim.Adam(parts.model.parameters(), lr=2e-3)
    run = tenuto.init()
    model, optimizer, batches = run.elastic(
        parts.model, optimizer, parts.dataset, global_batch=options.batch, steps=options.steps
    )
    began = time.monotonic()
    for x, y in batches:
        loss = parts.loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        _keep_pace(began, len(x) * options.pace)
        optimizer.step()
        run.report(loss=loss)
        began = time.monotonic()
    run.finish(model)


def _keep_pace(began: float, seconds: float) -> None:
    """Be as slow as asked, so that a machine with few processors shows the speeds of one with as many as slots."""
    if (left := began + seconds - time.monotonic()) > 0:
        time.sleep(left)


if __name__ == "__main__":
    sys.exit(main())
