"""What tenuto adds to a training step: an elastic loop and a bare one of DistributedDataParallel, in turn.

    python benchmarks/steps.py [--workers 2] [--steps 300]

Both run in the same processes on the same data (gloo on loopback, one thread each): one step of the one, then one step
of the other, so that whatever else the machine does meets both. Told are medians, and the median of the differences of
neighbours. At the end: the processor time of `run.report()` on the thread that trains.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import tenuto

WARM_UP = 20
"""Steps that are not counted."""
REPORTS = 20_000
BATCH = 32
WIDTHS = {"10 thousand parameters": 64, "1 million parameters": 512}

Step = Callable[[], None]


@dataclass(frozen=True)
class Training:
    """What both loops do."""

    width: int
    steps: int

    def build(self) -> tuple[nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(0)
        layers = [layer for _ in range(4) for layer in (nn.Linear(self.width, self.width), nn.ReLU())]
        model = nn.Sequential(*layers[:-1])
        return model, torch.optim.SGD(model.parameters(), lr=1e-3)

    def data(self) -> TensorDataset:
        x = torch.randn(BATCH * self.steps, self.width)
        return TensorDataset(x, x.flip(1))

    def bare(self) -> Step:
        """As PyTorch's tutorial has it."""
        model, optimizer = self.build()
        data, wrapped = self.data(), DistributedDataParallel(model)
        share = BATCH // dist.get_world_size()
        return one_step(
            iter(DataLoader(data, batch_size=share, sampler=DistributedSampler(data))), wrapped, optimizer
        )

    def elastic(self, run: tenuto.Run) -> Step:
        """The same with tenuto, and with a report in each step."""
        model, optimizer = self.build()
        model, optimizer, batches = run.elastic(model, optimizer, self.data(), global_batch=BATCH)
        return one_step(batches, model, optimizer, run)


def one_step(
    batches: Iterator[list[torch.Tensor]],
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    run: tenuto.Run | None = None,
) -> Step:
    def step() -> None:
        x, y = next(batches)
        optimizer.zero_grad()
        loss = mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if run is not None:
            run.report(loss=loss)

    return step


def seconds(step: Step) -> float:
    begun = time.perf_counter()
    step()
    return time.perf_counter() - begun


def worker(width: int, steps: int) -> None:
    """One of the processes; the first tells what it measured."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{os.environ['BARE_PORT']}",
        rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]),
    )
    run = tenuto.init()
    training = Training(width, steps + WARM_UP)
    bare, elastic = training.bare(), training.elastic(run)
    pairs = [(seconds(bare), seconds(elastic)) for _ in range(steps + WARM_UP)][WARM_UP:]
    loss = torch.tensor(0.5)
    begun = time.thread_time()
    for _ in range(REPORTS):
        run.report(loss=loss)
    report = (time.thread_time() - begun) / REPORTS
    if run.rank == 0:
        print(json.dumps({"pairs": pairs, "report": report}), flush=True)
    os._exit(0)  # the last update was the last word of all


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def measure(width: int, steps: int, workers: int) -> dict[str, list[list[float]]]:
    """What the first of some workers tells."""
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("TENUTO_")}
    surroundings |= {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "WORLD_SIZE": str(workers)}
    surroundings |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "BARE_PORT": free_port()}
    command = [sys.executable, __file__, "--worker", str(width), "--steps", str(steps)]
    started = [
        subprocess.Popen(command, env={**surroundings, "RANK": str(rank)}, stdout=subprocess.PIPE)
        for rank in range(workers)
    ]
    try:
        told = [one.communicate(timeout=600)[0] for one in started]
    finally:
        for one in started:
            one.kill()
    return json.loads(told[0])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workers", type=int, default=2)
    options.add_argument("--steps", type=int, default=300)
    options.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.worker is not None:
        worker(chosen.worker, chosen.steps)
    table = Table("model", "bare ms", "elastic ms", "more, ms", "more, %", title="A step, medians")
    for name, width in WIDTHS.items():
        told = measure(width, chosen.steps, chosen.workers)
        bare, elastic = (1000 * statistics.median(column) for column in zip(*told["pairs"], strict=True))
        more = 1000 * statistics.median(second - first for first, second in told["pairs"])
        table.add_row(name, f"{bare:.3f}", f"{elastic:.3f}", f"{more:+.3f}", f"{100 * more / bare:+.1f}")
    Console().print(table)
    Console().print(
        f"run.report(): {1e6 * told['report']:.1f} µs of processor time on the thread that trains"
    )


if __name__ == "__main__":
    main()
