"""Which model names there are in traces and profiles, and what is trained for each of them. No torch here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid, NotFound
from tenuto.suggest import did_you_mean

if TYPE_CHECKING:
    from tenuto.workloads.parts import Parts

DATA = "TENUTO_DATA"
"""Names a directory that has a folder for each data set."""
FILES = ("inputs.npy", "targets.npy")
"""What a folder of data holds: one row for each sample, in both the same number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """One name of a trace."""

    name: str
    stands_for: str
    standin: str
    """What is trained in its place."""
    builder: str
    """A function that makes its `Parts`: `module:function` below tenuto.workloads."""
    folder: str
    """Of its data, below the directory that `TENUTO_DATA` names."""
    batch: int
    """The global batch, if nobody says another."""

    def build(self) -> Parts:
        """Make model, loss and synthetic data. Imports torch."""
        module, _, function = self.builder.partition(":")
        parts: Parts = getattr(import_module(f"tenuto.workloads.{module}"), function)()
        return parts


_ALL = (
    Workload(
        name="resnet50",
        stands_for="ResNet-50 on ImageNet",
        standin="bottleneck residual network on 100 classes of 16 x 16 images",
        builder="images:resnet50",
        folder="imagenet",
        batch=256,
    ),
    Workload(
        name="vgg16",
        stands_for="VGG-16 on ImageNet",
        standin="stacked convolutions and wide linear layers on 100 classes of 16 x 16 images",
        builder="images:vgg16",
        folder="imagenet",
        batch=256,
    ),
    Workload(
        name="inception3",
        stands_for="Inception v3 on ImageNet",
        standin="parallel convolutions of three widths on 100 classes of 16 x 16 images",
        builder="images:inception3",
        folder="imagenet",
        batch=128,
    ),
    Workload(
        name="bert",
        stands_for="BERT",
        standin="two-layer encoder that fills in masked tokens of 16",
        builder="tokens:bert",
        folder="bert",
        batch=64,
    ),
    Workload(
        name="gpt2",
        stands_for="GPT-2",
        standin="two-layer decoder that tells the next of 16 tokens",
        builder="tokens:gpt2",
        folder="gpt2",
        batch=128,
    ),
    Workload(
        name="deepspeech2",
        stands_for="Deep Speech 2 on LibriSpeech",
        standin="convolution and recurrence over spectrograms of 24 frames, CTC loss",
        builder="speech:deepspeech2",
        folder="LibriSpeech",
        batch=64,
    ),
    Workload(
        name="resnet50_cifar10",
        stands_for="ResNet-50 on CIFAR-10",
        standin="bottleneck residual network on 10 classes of 16 x 16 images",
        builder="images:resnet50_cifar10",
        folder="cifar10",
        batch=128,
    ),
    Workload(
        name="cifar10",
        stands_for="ResNet-18 on CIFAR-10",
        standin="residual network on 10 classes of 16 x 16 images",
        builder="images:cifar10",
        folder="cifar10",
        batch=128,
    ),
    Workload(
        name="imagenet",
        stands_for="ResNet-50 on ImageNet",
        standin="bottleneck residual network on 100 classes of 16 x 16 images",
        builder="images:resnet50",
        folder="imagenet",
        batch=200,
    ),
    Workload(
        name="ncf",
        stands_for="neural collaborative filtering on MovieLens",
        standin="embeddings of 64 users and 64 items, their product and a perceptron",
        builder="ratings:ncf",
        folder="movielens",
        batch=256,
    ),
    Workload(
        name="yolov3",
        stands_for="YOLOv3 on PASCAL VOC",
        standin="convolutions with heads at two scales that tell boxes in 16 x 16 images",
        builder="boxes:yolov3",
        folder="voc",
        batch=32,
    ),
)
WORKLOADS: Mapping[str, Workload] = {workload.name: workload for workload in _ALL}
"""Every model name of the published traces and the bundled profiles."""


def workload_called(name: str) -> Workload:
    """What a name of a trace means."""
    if (workload := WORKLOADS.get(name)) is not None:
        return workload
    raise NotFound(
        f"no workload is called {name!r}",
        remedy=f"{did_you_mean(name, list(WORKLOADS))}Known are {', '.join(WORKLOADS)}",
    )


def data_of(
    workload: Workload, told: str | None = None, environ: Mapping[str, str] = os.environ
) -> Path | None:
    """The folder of a workload's data; None for synthetic data. What was named and is not there is refused."""
    if told is not None:
        folder, remedy = Path(told), "Name a folder that is there, or leave --data out for synthetic data"
    elif above := environ.get(DATA, ""):
        folder, remedy = Path(above) / workload.folder, f"Put it there, or unset {DATA} for synthetic data"
    else:
        return None
    for path in (folder, *(folder / name for name in FILES)):
        if not path.exists():
            raise InputInvalid(
                f"the data of {workload.name} is missing: there is no {path}", remedy=remedy, field="data"
            )
    return folder
