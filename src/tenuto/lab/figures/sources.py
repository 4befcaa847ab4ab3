"""Where the traces of the figures come from: public files that the user has, and our own generator."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tenuto.errors import InputInvalid, Place
from tenuto.sim.data_home import home
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.library import Library
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace
from tenuto.sim.write_trace import Form, write_trace

CHECKSUMS: Mapping[str, str] = MappingProxyType(
    {
        "195job": "a24b1d72d21a4a6012d22c5faceacaff",
        "cluster01": "f9a12aaaefde35efcb730b4632a3d57d",
        "cluster02": "03498dae12ccbdd022399d15955c0659",
        "cluster03": "494dfa213549f5a13358a981479309ff",
        "cluster04": "eb7c6e395cd35067291dea295e1baff5",
        "cluster05": "f2e315ca5f63491b9771d0415c5babde",
        "cluster06": "b7df6caf9e0deb93f090fcd134fce4a5",
        "cluster07": "a8a22ee06eb4bbeb87df155a9b7c7acf",
        "cluster08": "30a48f4b284dce7323c36f469092192d",
        "cluster09": "45c38319c217f719bb20c4b78df6946e",
        "cluster10": "a1b84550b7c533ceda0b776fa2545544",
        "elasticVpollux_e": "1929fd6e9b5dd6a68890d77f7ab2097b",
        "philly_103959": "f648d9367a20843ee7ec1a264b7212dd",
    }
)
"""MD5 of the published files."""


@dataclass(frozen=True, slots=True)
class PublicTrace:
    """A file that the authors published, by the name it has there."""

    name: str


@dataclass(frozen=True, slots=True)
class GeneratedTrace:
    """A trace that we draw ourselves."""

    name: str
    options: GeneratorOptions


@dataclass(frozen=True, slots=True)
class Found:
    """A trace's file, if there is one, and what the user should know about it."""

    path: Path | None
    remark: str = ""


def check_data(data: Path | None) -> None:
    """Refuse a directory of traces that is none."""
    if data is not None and not data.is_dir():
        raise InputInvalid(
            "this is not a directory",
            remedy="Let --data name the directory with the public traces",
            place=Place(str(data)),
        )


def find_public(trace: PublicTrace, data: Path | None) -> Found:
    """Look for a public trace below a directory, then in the user's library."""
    candidates = [] if data is None else sorted(data.rglob(f"{trace.name}.csv"))
    for path in candidates:
        if _checksum(path) == CHECKSUMS.get(trace.name):
            return Found(path)
    for path in candidates:
        if _is_trace(path):
            return Found(path, f"{path} is not the published {trace.name}; its own jobs are replayed")
    library = Library(home(os.environ))
    if trace.name in {entry.name for entry in library.entries()}:
        return Found(library.find(trace.name))
    return Found(None, f"the trace {trace.name} is not there; {_remedy(trace, data)}")


def write_generated(trace: GeneratedTrace, directory: Path) -> Path:
    """Draw a trace into a directory, over what lies there: it may come from another version of the generator."""
    path = directory / f"{trace.name}.csv"
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputInvalid(
            f"the directory cannot be made ({error.strerror})",
            remedy="Let --out name a directory in which you may write",
            place=Place(str(directory)),
        ) from None
    write_trace(generate(trace.options, load_profiles("a100")), path, Form.REFERENCE)
    return path


def _checksum(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def _is_trace(path: Path) -> bool:
    """Raw logs of the same name often lie in the same archive."""
    try:
        read_trace(path)
    except InputInvalid:
        return False
    return True


def _remedy(trace: PublicTrace, data: Path | None) -> str:
    where = f"put {trace.name}.csv below {data}" if data is not None else "name its directory with --data"
    return f"{where}, or add it: tenuto trace add {trace.name}.csv"
