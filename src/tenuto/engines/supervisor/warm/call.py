"""Which orders are plain Python calls, and what must be alike for two of them to come from the same warm server."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tenuto.wire.worker import WorkerOrder

_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_SHELLS = ("sh", "bash", "dash")
_MEANT_FOR_A_SHELL = frozenset("|&;<>()$`\\*?[]#~!{}\n")
_NO_SOURCE = (".pyc", ".pyz", ".zip")
_READ_AT_START = (
    *("PYTHON", "LD_", "LC_", "LANG", "TZ", "VIRTUAL_ENV", "MALLOC_", "GLIBC_"),
    *(
        "OMP_",
        "GOMP_",
        "KMP_",
        "MKL_",
        "OPENBLAS_",
        "BLIS_",
        "DNNL_",
        "ONEDNN_",
        "ATEN_",
        "TORCH",
        "PYTORCH_",
    ),
)
"""Beginnings of variables that an interpreter or a library reads once, when it is loaded."""
_READ_AGAIN = ("OMP_NUM_THREADS",)
"""Those among them that a forked worker heeds all the same."""


@dataclass(frozen=True, slots=True)
class PythonCall:
    """`python train.py …` or `python -m package.train …`."""

    program: str
    """Absolute, as found on the node; not resolved further, since a virtual environment is known by its path."""
    argv: tuple[str, ...]
    """From the program on, as it was written."""
    arguments: tuple[str, ...]
    """What the script or module sees behind its own name."""
    module: str = ""
    script: str = ""
    """One of the two is given."""
    unbuffered: bool = False


@dataclass(frozen=True, slots=True)
class Environment:
    """What a warm server is started for. Workers with the same one may come from the same server."""

    program: str
    variables: tuple[tuple[str, str], ...]
    """Of the job's own, those that are read at the start."""
    directory: str = ""
    """Where it is started, if that matters."""
    job: str = ""
    """The job, if it sets up something that others do not have."""


def environment_of(order: WorkerOrder, call: PythonCall) -> Environment:
    """What a server must have been started with for this call."""
    variables = {name: value for name, value in order.env.items() if _matters(name)}
    parts = order.env.get("PYTHONPATH", "").split(os.pathsep) if "PYTHONPATH" in order.env else []
    relative = any(not os.path.isabs(part) for part in parts)
    return Environment(
        program=call.program,
        variables=tuple(sorted(variables.items())),
        directory=order.cwd if relative else "",
        job=order.id.job if order.setup else "",
    )


def python_call(order: WorkerOrder, inherited: Mapping[str, str]) -> PythonCall | None:
    """The order as a plain Python call; None if it is anything else, or its script is not there."""
    argv = _without_shell(order.argv)
    if not argv or not _PYTHON.fullmatch(os.path.basename(argv[0])):
        return None
    search = order.env.get("PATH", inherited.get("PATH", os.defpath))
    program = _find(argv[0], order, f"{order.path_first}:{search}" if order.path_first else search)
    return None if program is None else _read(program, argv, order.cwd)


def without_shell(order: WorkerOrder) -> WorkerOrder:
    """The order, without a shell above its Python if it needs none: signals and deaths are then the worker's own."""
    argv = _without_shell(order.argv)
    return replace(order, argv=argv) if argv and _PYTHON.fullmatch(os.path.basename(argv[0])) else order


def _without_shell(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The command that a shell line consists of, if it needs no shell; else no command."""
    if len(argv) != 3 or os.path.basename(argv[0]) not in _SHELLS or argv[1] != "-c":
        return argv
    if _MEANT_FOR_A_SHELL & set(argv[2]):
        return ()
    try:
        words = shlex.split(argv[2])
    except ValueError:
        return ()
    return tuple(words[1:] if words[:1] == ["exec"] else words)


def _find(program: str, order: WorkerOrder, search: str) -> str | None:
    """Where the program lies for a process in the order's directory."""
    if os.sep in program:
        path = os.path.join(order.cwd or os.curdir, program)
        return os.path.abspath(path) if os.access(path, os.X_OK) else None
    parts = (os.path.join(order.cwd or os.curdir, part) for part in search.split(os.pathsep))
    found = shutil.which(program, path=os.pathsep.join(parts))
    return None if found is None else os.path.abspath(found)


def _read(program: str, argv: tuple[str, ...], cwd: str) -> PythonCall | None:
    rest = argv[1:]
    unbuffered = rest[:1] == ("-u",)
    rest = rest[1:] if unbuffered else rest
    if len(rest) >= 2 and rest[0] == "-m" and not rest[1].startswith("-"):
        return PythonCall(program, argv, rest[2:], module=rest[1], unbuffered=unbuffered)
    if rest and not rest[0].startswith("-") and _is_script(os.path.join(cwd or os.curdir, rest[0])):
        return PythonCall(program, argv, rest[1:], script=rest[0], unbuffered=unbuffered)
    return None


def _is_script(path: str) -> bool:
    return os.path.isfile(path) and not path.endswith(_NO_SOURCE)


def _matters(name: str) -> bool:
    return name.startswith(_READ_AT_START) and name not in _READ_AGAIN
