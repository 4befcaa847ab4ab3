"""Experiments from YAML files, strictly: what is unknown is refused with its line and the likeliest word."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tenuto.lab.choose_policies import ALL, choose
from tenuto.lab.experiment import Chosen, Experiment, Source
from tenuto.lab.generated import read_generated
from tenuto.lab.replay import REVISIONS
from tenuto.lab.written import Written, read_yaml
from tenuto.model.snapshot import Placement
from tenuto.plugins import SUFFIX, lack, policy_called
from tenuto.sim.library import find_trace
from tenuto.sim.read_cluster import load_cluster
from tenuto.suggest import did_you_mean
from tenuto.tuning import tuned

KEYS = ("name", "out", "traces", "clusters", "policies", "parameters", "seeds")
PARAMETERS = ("slot", "margin", "overhead", "placement", "profiles", "compat")
GENERATE = "generate"
SUFFIXES = (".csv", ".txt", ".json", ".yaml", ".yml")

Compats = Sequence[str | None]


def read_experiment(path: Path) -> Experiment:
    """Read an experiment; paths in the file are relative to it."""
    written = read_yaml(path)
    entries = written.mapping(KEYS)
    folder = path.absolute().parent
    if "traces" not in entries:
        written.refuse("there are no traces", "Write traces: [lab-200]")
    name = entries["name"].text() if "name" in entries else path.stem
    sources = _sources(entries["traces"], folder)
    parameters = _parameters(entries, folder)
    compats = parameters["compat"]
    policies, remarks = _policies(entries.get("policies"), folder, compats)
    return Experiment(
        name=name,
        out=folder / (entries["out"].text() if "out" in entries else name),
        sources=sources,
        clusters=_clusters(entries.get("clusters"), sources, folder),
        policies=policies,
        parameters=parameters,
        remarks=remarks,
    )


def _found(written: Written, folder: Path) -> str:
    """A name, or the path of a file or directory that stands beside the experiment."""
    path = folder / Path(written.text()).expanduser()
    looks_like_a_path = path.suffix in SUFFIXES or "/" in written.text()
    return str(path) if looks_like_a_path or path.exists() else written.text()


def _sources(written: Written, folder: Path) -> tuple[Source, ...]:
    sources: dict[str, Source] = {}
    for entry in written.each():
        for source in _sources_of(entry, folder):
            if source.name in sources:
                entry.refuse(f"two traces are named {source.name!r}", "Rename one, or give it a name")
            sources[source.name] = source
    return tuple(sources.values())


def _sources_of(entry: Written, folder: Path) -> Iterator[Source]:
    if isinstance(entry.value, dict):
        entries = entry.mapping((GENERATE,))
        if GENERATE not in entries:
            entry.refuse(
                "there is no trace in it", "Write a name, a file, or generate: {jobs: 100, interarrival: 900}"
            )
        for generated in read_generated(entries[GENERATE]):
            yield Source(generated.name, "", generated)
        return
    text = _found(entry, folder)
    with entry.blamed():
        yield Source(find_trace(text).stem, text)


def _clusters(
    written: Written | None, sources: Sequence[Source], folder: Path
) -> Mapping[str, tuple[str, ...]]:
    """For each trace its clusters: the same for all, or told trace by trace."""
    names = [source.name for source in sources]
    if written is None:
        return dict.fromkeys(names, ("n16g8",))
    if not isinstance(written.value, dict):
        return dict.fromkeys(names, _each_cluster(written, folder))
    entries = written.entries("")
    for name, entry in entries.items():
        if name not in names:
            entry.refuse(
                f"no trace is named {name!r}",
                f"{did_you_mean(name, names)}The traces are {', '.join(names)}",
            )
    for name in names:
        if name not in entries:
            written.refuse(f"trace {name!r} has no cluster", f"Write {name}: n16g8")
    return {name: _each_cluster(entries[name], folder) for name in names}


def _each_cluster(written: Written, folder: Path) -> tuple[str, ...]:
    found = []
    for entry in written.each():
        text = _found(entry, folder)
        with entry.blamed():
            load_cluster(text)
        found.append(text)
    return tuple(found)


def _parameters(entries: Mapping[str, Written], folder: Path) -> dict[str, list[Any]]:
    readers: dict[str, Callable[[Written], Any]] = {
        "slot": Written.number,
        "margin": Written.number,
        "overhead": lambda one: _found(one, folder),
        "placement": lambda one: one.one_of([str(placement) for placement in Placement]),
        "profiles": lambda one: _found(one, folder),
        "compat": lambda one: None if one.value is None else one.one_of(list(REVISIONS)),
    }
    given = entries["parameters"].mapping(PARAMETERS) if "parameters" in entries else {}
    parameters: dict[str, list[Any]] = {"compat": [None]}
    parameters |= {name: [readers[name](one) for one in written.each()] for name, written in given.items()}
    seeds = entries["seeds"].each() if "seeds" in entries else []
    return {**parameters, "seed": [seed.whole() for seed in seeds] or [0]}


def _policies(
    written: Written | None, folder: Path, compats: Compats
) -> tuple[tuple[Chosen, ...], tuple[str, ...]]:
    if written is None:
        return (Chosen("elasticflow"),), ()
    chosen: list[Chosen] = []
    remarks: list[str] = []
    for entry in written.each():
        if entry.value == ALL:
            everyone, told = _everyone(compats)
            chosen += everyone
            remarks += told
        elif isinstance(entry.value, dict):
            for name, settings in entry.entries("").items():
                chosen += _tuned(Written(name, settings.place), settings, folder)
        else:
            chosen += _tuned(entry, None, folder)
    if not chosen:
        written.refuse("there are no policies", "Write policies: [elasticflow, edf], or leave the key out")
    return tuple(chosen), tuple(dict.fromkeys(remarks))


def _everyone(compats: Compats) -> tuple[list[Chosen], list[str]]:
    """All policies, each in those semantics that know it."""
    semantics: dict[str, list[str | None]] = {}
    remarks: list[str] = []
    for compat in compats:
        choice = choose(ALL, compat=compat is not None)
        remarks += choice.remarks
        for policy in choice.policies:
            semantics.setdefault(policy.name, []).append(compat)
    return [Chosen(name, only=tuple(known)) for name, known in semantics.items()], remarks


def _tuned(entry: Written, settings: Written | None, folder: Path) -> list[Chosen]:
    """A policy by name or file, once for each combination of the listed settings."""
    text = str(folder / entry.text()) if entry.text().endswith(SUFFIX) else entry.text()
    with entry.blamed():
        policy = policy_called(text)
        if problem := lack(policy):
            raise problem
    name = text if text.endswith(SUFFIX) else policy.name
    if settings is None or settings.value is None:
        return [Chosen(name)]
    listed = settings.entries("Write the settings as {name: value}; `tenuto policies` tells them")
    chosen = []
    for values in itertools.product(*(one.each() for one in listed.values())):
        wishes = dict(zip(listed, (one.value for one in values), strict=True))
        with settings.blamed():
            known = tuned(policy, wishes).settings
        chosen.append(Chosen(name, tuple(sorted((setting, known[setting]) for setting in wishes))))
    return chosen
