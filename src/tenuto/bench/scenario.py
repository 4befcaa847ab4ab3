"""Scripted scenarios in the reference's command language. Pure.

The first line is the number of nodes (the reference calls them workers). Then one command a line:

    R NODE MODEL BATCH JOB PROCS NODES RANK IP PORT MASK ITERATIONS SCRATCH RANK…   the job's part on one node
    G DDP JOB RANK…     the ranks that form a group; DDP is 1 for training, 0 for handing over state
    F                   groups are formed and state is handed over
    T                   let train what was placed since
    K NODE JOB          take the job off a node
    U                   nothing; the reference's own is broken
    W SECONDS           wait
    RE                  restart all processes from their checkpoints
    S                   the end

A rank is NODE x (slots of a node) + SLOT. Empty lines and what follows a # are passed over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tenuto.errors import InputInvalid, Place
from tenuto.suggest import did_you_mean

_R_FIELDS = 12
"""Without the ranks."""
_MOST_NODES, _MOST_SLOTS = 256, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """R: a job's part on one node."""

    node: int
    model: str
    batch: int
    job: str
    nodes: int
    """How many parts the job has."""
    slots: tuple[int, ...]
    iterations: int
    from_scratch: bool
    ranks: tuple[int, ...]
    """Of the whole job."""


@dataclass(frozen=True, slots=True)
class Kill:
    """K."""

    node: int
    job: str


@dataclass(frozen=True, slots=True)
class NewGroup:
    """G."""

    job: str
    ranks: tuple[int, ...]
    training: bool


@dataclass(frozen=True, slots=True)
class HandedOver:
    """F."""


@dataclass(frozen=True, slots=True)
class Begin:
    """T."""


@dataclass(frozen=True, slots=True)
class Update:
    """U."""


@dataclass(frozen=True, slots=True)
class Wait:
    """W."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Restart:
    """RE."""


@dataclass(frozen=True, slots=True)
class Stop:
    """S."""


Verb = Run | Kill | NewGroup | HandedOver | Begin | Update | Wait | Restart | Stop


@dataclass(frozen=True, slots=True)
class Command:
    """One line."""

    line: int
    verb: Verb


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole file."""

    nodes: int
    commands: tuple[Command, ...]

    @property
    def slots(self) -> int:
        """How many slots a node must have."""
        used = [
            slot for command in self.commands if isinstance(command.verb, Run) for slot in command.verb.slots
        ]
        return max(used, default=0) + 1


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file. Raises InputInvalid with the line and what to do."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputInvalid(
            f"the scenario cannot be read ({error.strerror})", remedy="Name a file", place=Place(str(path))
        ) from None
    except UnicodeDecodeError:
        raise InputInvalid(
            "the scenario is not UTF-8 text", remedy="Save it as UTF-8", place=Place(str(path))
        ) from None
    return parse_scenario(text, str(path))


def parse_scenario(text: str, name: str = "scenario") -> Scenario:
    """Read the text of a scenario; `name` is what errors call it."""
    lines = [
        _Line(Place(name, number), words)
        for number, written in enumerate(text.splitlines(), start=1)
        if (words := tuple(written.partition("#")[0].split()))
    ]
    if not lines:
        raise InputInvalid(
            "the scenario is empty", remedy="Begin with the number of nodes, such as 1", place=Place(name, 1)
        )
    first, *rest = lines
    if len(first.words) != 1:
        raise first.problem("the first line is not the number of nodes", "Begin with a line such as 1")
    nodes = first.number(0, "the number of nodes", least=1, most=_MOST_NODES)
    commands = tuple(Command(line.place.line or 0, _read(line, nodes)) for line in rest)
    for line, command in zip(rest, commands, strict=True):
        if isinstance(command.verb, Stop) and command is not commands[-1]:
            raise line.problem("S is not the last command", "Remove it, or what follows")
    return Scenario(nodes, commands)


@dataclass(frozen=True, slots=True)
class _Line:
    """The words of a line and where it stands."""

    place: Place
    words: tuple[str, ...]

    def problem(self, what: str, remedy: str) -> InputInvalid:
        return InputInvalid(what, remedy=remedy, place=self.place)

    def count(self, fields: int, form: str, *, at_least: bool = False) -> None:
        given = len(self.words) - 1
        if given < fields or (given > fields and not at_least):
            least = "at least " if at_least else ""
            raise self.problem(f"{self.words[0]} has {least}{fields} fields, not {given}", f"Write {form}")

    def number(self, index: int, what: str, *, least: int = 0, most: int = 1 << 62) -> int:
        word = self.words[index]
        if not (word.isascii() and word.isdigit() and least <= int(word) <= most):
            limit = f"from {least} to {most}" if most < 1 << 62 else f"of at least {least}"
            raise self.problem(f"{what} is {word!r}", f"Write a whole number {limit}")
        return int(word)

    def ranks(self, index: int) -> tuple[int, ...]:
        return tuple(self.number(i, "a rank") for i in range(index, len(self.words)))


def _read(line: _Line, nodes: int) -> Verb:
    verb = line.words[0].upper()
    if verb not in _READERS:
        known = ", ".join(_READERS)
        raise line.problem(
            f"there is no command {line.words[0]!r}", f"{did_you_mean(verb, _READERS)}Known are {known}"
        )
    return _READERS[verb](line, nodes)


def _run(line: _Line, nodes: int) -> Run:
    line.count(
        _R_FIELDS,
        "R NODE MODEL BATCH JOB PROCS NODES RANK IP PORT MASK ITERATIONS SCRATCH RANK…",
        at_least=True,
    )
    mask = line.number(10, "the mask of slots", least=1, most=(1 << _MOST_SLOTS) - 1)
    slots = tuple(slot for slot in range(_MOST_SLOTS) if mask >> slot & 1)
    processes = line.number(5, "the number of processes", least=1)
    if processes != len(slots):
        raise line.problem(
            f"{processes} processes are asked for, but the mask {mask} has {len(slots)} slots",
            "Give as many processes as the mask has bits",
        )
    parts = line.number(6, "the number of nodes", least=1, most=nodes)
    line.number(7, "the rank of the node", most=parts - 1)
    line.number(9, "the port", most=65535)
    ranks = line.ranks(13)
    if parts == 1 and ranks and len(ranks) != len(slots):
        raise line.problem(f"{len(ranks)} ranks for {len(slots)} slots", "Name one rank for each slot")
    return Run(
        node=_node(line, nodes),
        model=line.words[2],
        batch=line.number(3, "the batch", least=1),
        job=line.words[4],
        nodes=parts,
        slots=slots,
        iterations=line.number(11, "the number of iterations", least=1),
        from_scratch=bool(line.number(12, "from scratch", most=1)),
        ranks=ranks,
    )


def _kill(line: _Line, nodes: int) -> Kill:
    line.count(2, "K NODE JOB")
    return Kill(_node(line, nodes), line.words[2])


def _group(line: _Line, nodes: int) -> NewGroup:
    del nodes
    line.count(3, "G DDP JOB RANK…", at_least=True)
    training = bool(line.number(1, "whether it is for training", most=1))
    ranks = line.ranks(3)
    if len(set(ranks)) < len(ranks):
        raise line.problem("a rank is named twice", "Name each once")
    return NewGroup(line.words[2], ranks, training)


def _wait(line: _Line, nodes: int) -> Wait:
    del nodes
    line.count(1, "W SECONDS")
    try:
        seconds = float(line.words[1])
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= 86_400:
        raise line.problem(f"{line.words[1]!r} is no time to wait", "Write seconds, from 0 to 86400")
    return Wait(seconds)


def _plain(verb: Verb) -> Callable[[_Line, int], Verb]:
    def read(line: _Line, nodes: int) -> Verb:
        del nodes
        line.count(0, line.words[0].upper())
        return verb

    return read


def _node(line: _Line, nodes: int) -> int:
    return line.number(1, "the node", most=nodes - 1)


_READERS: Mapping[str, Callable[[_Line, int], Verb]] = MappingProxyType(
    {
        "R": _run,
        "K": _kill,
        "G": _group,
        "F": _plain(HandedOver()),
        "T": _plain(Begin()),
        "U": _plain(Update()),
        "W": _wait,
        "RE": _plain(Restart()),
        "S": _plain(Stop()),
    }
)
