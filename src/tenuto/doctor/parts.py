"""Which programs and packages are here, in which version, and how to get those that are not.

Nothing is imported for it: torch alone would take seconds.
"""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import tenuto
from tenuto.doctor.finding import Finding, Status, size
from tenuto.gpus_here import DriverSilent, GpuHere, gpus_here

TOPIC = "parts"
_PATIENCE = 10.0
"""Seconds for a driver to answer in."""


@dataclass(frozen=True, slots=True)
class Part:
    """Something that may be here or not."""

    name: str
    purpose: str
    get: str
    """The command that gets it."""


PACKAGES = (
    Part("torch", "training that rescales in place", "pip install 'tenuto[torch]'"),
    Part("safetensors", "checkpoints and exported models", "pip install 'tenuto[torch]'"),
    Part("highspy", "the policy chronus", "pip install 'tenuto[lab]'"),
    Part("matplotlib", "pictures of replays", "pip install 'tenuto[lab]'"),
    Part("pyarrow", "reports as Parquet", "pip install 'tenuto[lab]'"),
    Part("tensorboardX", "metrics for TensorBoard", "pip install 'tenuto[tensorboard]'"),
    Part("psycopg", "a store in PostgreSQL", "pip install 'tenuto[postgresql]'"),
    Part("horovod", "jobs of yours that use it", "pip install horovod"),
    Part("tensorflow", "jobs of yours that use it", "pip install tensorflow"),
    Part("h5py", "jobs of yours that read HDF5", "pip install h5py"),
    Part("ray", "a Ray cluster", "pip install 'ray[default]'"),
    Part("kubernetes", "a Kubernetes cluster", "pip install kubernetes"),
)
PROGRAMS = (
    Part("py-spy", "stacks of hung workers without their help", "pip install py-spy"),
    Part("nginx", "TLS before the server", "apt-get install nginx"),
    Part("systemctl", "tenuto install-service", "apt-get install systemd"),
    Part("kubectl", "a Kubernetes cluster", "see https://kubernetes.io/docs/tasks/tools"),
    Part("helm", "a Kubernetes cluster", "see https://helm.sh/docs/intro/install"),
)


def find_parts() -> Iterator[Finding]:
    """What every tenuto needs, which is here, then what it may use."""
    yield Finding(topic=TOPIC, name="tenuto", told=tenuto.__version__)
    yield Finding(topic=TOPIC, name="python", told=f"{platform.python_version()} ({sys.executable})")
    yield Finding(topic=TOPIC, name="system", told=f"{platform.system()} {platform.release()}")
    yield Finding(topic=TOPIC, name="sqlite", told=sqlite3.sqlite_version)
    yield _kernels()
    yield from map(_package, PACKAGES)
    yield from map(_program, PROGRAMS)
    yield _gpus()


def _package(part: Part) -> Finding:
    if find_spec(part.name) is None:
        return _missing(part)
    try:
        return Finding(topic=TOPIC, name=part.name, told=version(part.name))
    except PackageNotFoundError:
        return Finding(topic=TOPIC, name=part.name, told="is here, of a version that it does not tell")


def _program(part: Part) -> Finding:
    # What stands in sbin is not on everybody's PATH; what came with this Python may not be either.
    places = (os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", str(Path(sys.executable).parent))
    found = shutil.which(part.name, path=os.pathsep.join(places))
    return Finding(topic=TOPIC, name=part.name, told=found) if found else _missing(part)


def _missing(part: Part) -> Finding:
    return Finding(
        topic=TOPIC,
        name=part.name,
        status=Status.MISSING,
        told=f"not here; for {part.purpose}",
        remedy=part.get,
    )


def _kernels() -> Finding:
    """Whether the kernels were compiled on this machine before."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    place = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(cache, "tenuto", "kernels"))
    sizes = [path.stat().st_size for path in place.rglob("*.nbc")] if place.is_dir() else []
    if not sizes:
        told = "none yet; the first round compiles them, which takes a minute or two"
    else:
        told = f"{len(sizes)} of {size(sum(sizes))} in {place}"
    return Finding(topic=TOPIC, name="compiled kernels", told=told, value=len(sizes), unit="kernels")


def _gpus() -> Finding:
    """What NVIDIA's driver tells, if it is here."""
    try:
        here = gpus_here(_PATIENCE)
    except DriverSilent as error:
        return _silent(error.problem)
    if here is None:
        get = "Install NVIDIA's driver if this machine has GPUs"
        return _missing(Part("NVIDIA driver", "GPU slots; without GPUs slots are processors", get))
    if here.problem:
        return _silent(here.problem)
    ill = [gpu for gpu in here.gpus if gpu.problem]
    gpus = ", ".join(_gpu(gpu) for gpu in here.gpus) or "no GPU"
    return Finding(
        topic=TOPIC,
        name="NVIDIA driver",
        status=Status.WARNING if ill else Status.OK,
        told=f"{here.driver}; {gpus}",
        remedy="See nvidia-smi" if ill else "",
        value=len(here.gpus) - len(ill),
        unit="GPUs",
    )


def _gpu(gpu: GpuHere) -> str:
    if gpu.problem:
        return f"GPU {gpu.index} does not answer ({gpu.problem})"
    return gpu.name if gpu.memory is None else f"{gpu.name} {size(gpu.memory)}"


def _silent(problem: str) -> Finding:
    """A driver that is here and of no use."""
    return Finding(
        topic=TOPIC,
        name="NVIDIA driver",
        status=Status.WARNING,
        told=f"is here, but does not answer ({problem})",
        remedy="See nvidia-smi",
    )
