"""A residual network learns to tell images of ten classes apart."""

import argparse
from pathlib import Path

import torch
from torch.nn import functional

from model import ResNet, images


def main() -> None:
    """Train, log the loss, and keep the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--log-dir", type=Path, default=Path("log"))
    parser.add_argument("--export-dir", type=Path, default=Path("export"))
    args = parser.parse_args()
    for directory in (args.log_dir, args.export_dir):
        directory.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(0)
    dataset = images()
    model = ResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    order = torch.utils.data.RandomSampler(dataset, num_samples=args.epochs * len(dataset))
    batches = torch.utils.data.DataLoader(dataset, batch_size=args.batch, sampler=order)
    for x, y in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.precision == "bfloat16"):
            loss = functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with (args.log_dir / "loss.txt").open("a") as log:
            log.write(f"{loss.item():.4f}\n")
    torch.save(model.state_dict(), args.export_dir / "model.pt")


if __name__ == "__main__":
    main()
