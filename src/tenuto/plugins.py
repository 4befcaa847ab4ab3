"""Policies that are not ours: brought by other packages, or written into a file just now.

A package names its policies by entry points of the group `tenuto.policies`; a file is named by its path. Both
are found by the same text in every process, so a worker of the laboratory needs nothing but that text. What
cannot be used is told when somebody asks for it, and never keeps the other policies from working.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tenuto.errors import InputInvalid, Place, PlanRefused, TenutoError
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES, policy_named
from tenuto.suggest import did_you_mean

GROUP = "tenuto.policies"
SUFFIX = ".py"

# A name stands between commas on the command line and becomes the name of a directory.
_NAME = re.compile(r"\w[\w+-]{0,99}")
_TAKEN = "all"


@dataclass(frozen=True, slots=True)
class Survey:
    """Every policy that can be used here, and why some cannot."""

    policies: Mapping[str, Policy]
    problems: tuple[InputInvalid, ...]


def all_policies() -> Mapping[str, Policy]:
    """Every policy by name: the built-in ones and those that installed packages bring."""
    return survey().policies


def find_policy(name: str) -> Policy | None:
    """Find a policy by its name, by an alias, or by the path of a file that ends in `.py`."""
    if name.endswith(SUFFIX):
        return policy_in(Path(name))
    if built_in := policy_named(name):
        return built_in
    entries = tuple(entry_points(group=GROUP, name=name))
    if entries:
        return _brought(entries)
    return next((policy for policy in all_policies().values() if name in policy.aliases), None)


def policy_called(name: str) -> Policy:
    """The policy that a user means; if there is none, say which one may have been meant."""
    policy = find_policy(name)
    if policy is None:
        raise InputInvalid(
            f"there is no policy {name!r}",
            remedy=did_you_mean(name, all_policies()) + "`tenuto policies` lists them",
        )
    return policy


def lack(policy: Policy) -> InputInvalid | None:
    """What keeps a policy from being used here: packages that it needs and that are not installed."""
    packages = [package for package in policy.requires if find_spec(package) is None]
    if not packages:
        return None
    wanted = "'tenuto[lab]'" if policy.name in POLICIES else " ".join(packages)
    return InputInvalid(
        f"policy {policy.name} needs {' and '.join(packages)}, not installed here",
        remedy=f"Install what is missing: pip install {wanted}",
    )


def survey() -> Survey:
    """Load everything that installed packages bring."""
    brought: dict[str, list[EntryPoint]] = {}
    for entry in entry_points(group=GROUP):
        brought.setdefault(entry.name, []).append(entry)
    policies, problems = dict(POLICIES), []
    for name in sorted(brought):
        try:
            policies[name] = _brought(brought[name])
        except InputInvalid as problem:
            problems.append(problem)
    return Survey(policies, tuple(problems))


def _brought(entries: Iterable[EntryPoint]) -> Policy:
    """The policy behind one name, which only one package may use."""
    entry, *others = entries
    where = f"policy {entry.name!r} of package {_package(entry)!r}"
    if others:
        packages = " and ".join(sorted(_package(one) for one in (entry, *others)))
        raise InputInvalid(
            f"policy {entry.name!r} is brought by {packages}", remedy="Uninstall all of them but one"
        )
    repair = f"Repair or uninstall {_package(entry)}"
    try:
        found = entry.load()
    except (Exception, SystemExit) as error:
        raise InputInvalid(f"{where} cannot be loaded ({_told(error)})", remedy=repair) from error
    policy = _as_policy(found, entry.name, where, repair)
    if policy.name != entry.name:
        raise InputInvalid(f"{where} calls itself {policy.name!r}", remedy=repair)
    return policy


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else entry.dist.name


def policy_in(path: Path) -> Policy:
    """The policy in a file: its `POLICY`, or its function `decide` under the file's name."""
    module = _module_in(path)
    found = getattr(module, "POLICY", None) or getattr(module, "decide", None)
    repair = "Write a function decide(snap) that returns a Decision, or a Policy named POLICY"
    if found is None:
        raise InputInvalid("there is neither POLICY nor decide in it", remedy=repair, place=Place(str(path)))
    return _as_policy(found, path.stem, str(path), repair)


def _module_in(path: Path) -> ModuleType:
    file = str(path.absolute())
    if not path.is_file():
        raise InputInvalid(
            "there is no such file", remedy="Check the path for a typing mistake", place=Place(str(path))
        )
    loader = _AsWritten(file, file)
    spec = spec_from_loader(file, loader)
    assert spec is not None
    module = module_from_spec(spec)
    # Dataclasses look up the module in which they stand.
    sys.modules[file] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise InputInvalid(
            f"the file cannot be run ({_told(error)})",
            remedy="Correct it and try again",
            place=Place(str(path), _line_in(file, error)),
        ) from error
    return module


@contextmanager
def mistakes_explained(policy: Policy) -> Iterator[None]:
    """Let a policy that is not ours fail with its file and line; what ours do wrong is our bug, and stays one."""
    try:
        yield
    except (Exception, SystemExit) as error:
        explained = isinstance(error, TenutoError) and not isinstance(error, PlanRefused)
        # Whoever is told how far a replay has come may be gone; that is no mistake of the policy.
        if policy.name in POLICIES or explained or isinstance(error, ConnectionError):
            raise
        file = _file_of(policy)
        problem = str(error) if isinstance(error, PlanRefused) else f"{policy.name} failed ({_told(error)})"
        raise InputInvalid(
            problem, remedy="Correct it and try again", place=Place(file, _line_in(file, error))
        ) from error


def _file_of(policy: Policy) -> str:
    """Where a policy's function, or the class of its value, was written."""
    module = sys.modules.get(getattr(policy.decide, "__module__", None) or "")
    return getattr(module, "__file__", None) or f"policy {policy.name}"


class _AsWritten(SourceFileLoader):
    """Runs what stands in the file now; bytecode kept from a moment ago may be that of another text."""

    def get_code(self, _fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _line_in(file: str, error: BaseException) -> int | None:
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)


def _told(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}".replace("\n", " ")


def _as_policy(found: Any, name: str, where: str, repair: str) -> Policy:
    """Take a policy as it is; give a function a name and its docstring's first line."""
    if isinstance(found, Policy):
        policy = found
    elif callable(found) and not isinstance(found, type):
        first_line = (getattr(found, "__doc__", None) or "").strip().partition("\n")[0]
        policy = Policy(name, first_line or f"{where}.", found, promises=False)
    else:
        raise InputInvalid(
            f"{where} is neither a Policy nor a function, but of type {type(found).__name__}", remedy=repair
        )
    for word in (policy.name, *policy.aliases):
        if not _NAME.fullmatch(word) or word == _TAKEN:
            raise InputInvalid(
                f"{where}: {word!r} cannot be the name of a policy",
                remedy="Use letters, digits and + - _, beginning with a letter or digit, and not the word all",
            )
        if policy_named(word):
            raise InputInvalid(
                f"{where} takes the name of the built-in {word!r}", remedy="Give it another name"
            )
    return policy
