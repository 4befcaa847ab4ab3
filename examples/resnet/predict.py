"""Tell the classes of images with an exported model: one row for each image."""

import argparse
import csv
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from model import ResNet, images


def main() -> None:
    """Read the export, write rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export-dir", type=Path, default=Path("export"))
    parser.add_argument("--rows", type=int, default=10)
    args = parser.parse_args()

    model = ResNet()
    model.load_state_dict(load_file(args.export_dir / "model.safetensors"))
    with torch.inference_mode():
        x, y = images()[: args.rows]
        sure, told = model.eval()(x).softmax(dim=1).max(dim=1)
    rows = csv.writer(sys.stdout)
    rows.writerow(["image", "class", "predicted", "probability"])
    for row in zip(range(args.rows), y.tolist(), told.tolist(), sure.tolist(), strict=True):
        rows.writerow([*row[:3], f"{row[3]:.3f}"])


if __name__ == "__main__":
    main()
