"""The options with which `submit` and `run` describe a job, or change what a file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tenuto.cli.pairs import pairs, value_of, values
from tenuto.errors import InputInvalid
from tenuto.wire.job_file import in_local_zone

NIC_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")

NameOption = Annotated[
    str | None, typer.Option("--name", "-n", metavar="NAME", help="What the job is called.")
]
WorkersOption = Annotated[
    str | None, typer.Option("--workers", metavar="N|MIN..MAX", help="How many workers it can have.")
]
GpusOption = Annotated[
    int | None, typer.Option("--gpus", metavar="N", help="GPUs of each worker: 1, or 0 for none and no slot.")
]
DeadlineOption = Annotated[
    str | None, typer.Option("--deadline", metavar="WHEN", help="+6h, or 2030-11-20T18:00 (local time).")
]
StepsOption = Annotated[str | None, typer.Option("--steps", metavar="N", help="All the work, in steps.")]
CurveOption = Annotated[
    str | None,
    typer.Option("--curve", metavar="CURVE", help="Steps per second: '{1: 3.2, 2: 6}', or auto to measure."),
]
PriorityOption = Annotated[str | None, typer.Option("--priority", metavar="P", help="normal or urgent.")]
EnvOption = Annotated[
    list[str] | None,
    typer.Option("--env", "-e", metavar="NAME=VALUE", help="A variable of its environment; repeatable."),
]
LabelOption = Annotated[
    list[str] | None, typer.Option("--label", "-l", metavar="KEY=VALUE", help="A label; repeatable.")
]
AfterOption = Annotated[
    str | None, typer.Option("--after", metavar="JOB", help="Begin when this job has succeeded.")
]
NodeOption = Annotated[
    str | None, typer.Option("--node", metavar="NODE", help="The only node it may run on.")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any key of a job file: --set retry=2; repeatable."),
]
FreshOption = Annotated[
    bool,
    typer.Option("--fresh", help="Delete the logs of your earlier runs of this name that have ended."),
]
PatienceOption = Annotated[
    str | None,
    typer.Option("--patience", metavar="TIME", help="If no server answers, try for so long: 5m."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What somebody said on the command line."""

    plain: dict[str, str | None]
    """Texts for keys of the job file that are called so."""
    workers: str | None = None
    gpus: int | None = None
    steps: str | None = None
    curve: str | None = None
    least: int | None = None
    most: int | None = None
    nic: str | None = None
    env: Sequence[str] = ()
    labels: Sequence[str] = ()
    set: Sequence[str] = ()

    def over(self, file: dict[str, Any]) -> dict[str, Any]:
        """The keys to put in place of those of a file."""
        keys: dict[str, Any] = {key: text for key, text in self.plain.items() if text is not None}
        if deadline := keys.get("deadline"):
            keys["deadline"] = in_local_zone(deadline)
        if self.gpus is not None:
            keys["gpus"] = self.gpus
        if self.steps is not None:
            keys["total"] = {"steps": value_of(self.steps, "--steps")}
        if self.curve is not None:
            keys["curve"] = value_of(self.curve, "--curve")
        if sizes := self._sizes():
            keys |= sizes
        variables = pairs(self.env, "--env") | dict.fromkeys(
            NIC_VARIABLES if self.nic else (), self.nic or ""
        )
        if variables:
            keys["env"] = {**_mapping(file.get("env")), **variables}
        if self.labels:
            keys["labels"] = {**_mapping(file.get("labels")), **pairs(self.labels, "--label")}
        return keys | values(self.set)

    def _sizes(self) -> dict[str, Any]:
        """Workers as a number or range; with `--min` and `--max`, `--workers` is the preferred number."""
        if self.least is None and self.most is None:
            return {} if self.workers is None else {"workers": _number(self.workers)}
        preferred = None if self.workers is None else _number(self.workers)
        if preferred is not None and not isinstance(preferred, int):
            raise InputInvalid(
                f"--workers {self.workers} is a range, and --min or --max is given too",
                remedy="Give a range, or a number with --min and --max",
            )
        least = 1 if self.least is None else self.least
        most = max(preferred or least, least) if self.most is None else self.most
        sizes: dict[str, Any] = {"workers": f"{least}..{most}"}
        return sizes if preferred is None else {**sizes, "preferred": preferred}


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def _mapping(value: object) -> dict[str, Any]:
    return dict(value) if isinstance(value, dict) else {}
