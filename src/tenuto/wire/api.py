"""What a job looks like when it is submitted: the same for the API (JSON) and for job files (YAML).

`JobIn.model_validate(mapping)` checks everything that can be checked without looking at the platform, and
`to_spec(now)` makes the value that the store keeps. `problems.validated` does both politely: its errors
name the field and what to write instead.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from tenuto.errors import InputInvalid
from tenuto.model.job import IN_PLACE, After, Checkpoint, JobSpec, Limits, Retry, Role, StartOrder
from tenuto.wire import fields, quantities
from tenuto.wire.fields import Request
from tenuto.wire.quantities import MOST_WORKERS, Unusable

AUTO = "auto"
SHELL = ("/bin/sh", "-c")
STRATEGIES = ("command", "allreduce")
MOST_ARGUMENTS = 10_000


def _command(written: object) -> object:
    """A command line for the shell, or arguments."""
    if isinstance(written, str):
        written = [*SHELL, written] if written.strip() else []
    if not isinstance(written, list | tuple):
        return written
    if not written or not str(written[0]).strip():
        raise Unusable("the command is empty", "Say what to run: python train.py")
    if len(written) > MOST_ARGUMENTS:
        raise Unusable("the command has too many arguments", f"Give at most {MOST_ARGUMENTS}")
    return tuple(written)


def _module(written: object) -> object:
    """A Python module and its arguments, as one line or as a list."""
    if not isinstance(written, str):
        return _command(written)
    try:
        return _command(shlex.split(written) or [""])
    except ValueError:
        raise Unusable("a quotation mark is missing", "Close it, or give a list of arguments") from None


def _workers(written: object) -> object:
    if isinstance(written, Mapping | WorkersIn):
        return written
    least, most = quantities.worker_range(written)
    return {"min": least, "max": most}


def _total(written: object) -> object:
    plain = isinstance(written, int | float) and not isinstance(written, bool)
    return {"steps": written} if plain else written


def _after(written: object) -> object:
    return {"job": written} if isinstance(written, str) else written


def _retry(written: object) -> object:
    plain = isinstance(written, int) and not isinstance(written, bool)
    return {"failures": written} if plain else written


def _checkpoint(written: object) -> object:
    return {"dir": written} if isinstance(written, str) else written


def _gpus(written: object) -> object:
    """How many GPUs each worker has: one, or none at all."""
    if isinstance(written, int) and not isinstance(written, bool) and written > 1:
        raise Unusable(
            f"a worker cannot have {written} GPUs",
            f"Each has one slot: write workers: {written}, or gpus: 0 for none",
        )
    return written


def _curve(written: object) -> object:
    return written if written is None or written == AUTO else fields.curve(written)


def _strategy(written: str) -> str:
    if written not in STRATEGIES:
        raise Unusable(
            f"the strategy {written[:60]!r} is not available",
            "Write command (any program, restarted from its checkpoint when its size changes) or "
            "allreduce (workers that use tenuto.init() and change their number while they train)",
        )
    return written


class WorkersIn(Request):
    """How few and how many workers the job can have."""

    min: int = Field(default=1, ge=1, le=MOST_WORKERS)
    max: int = Field(ge=1, le=MOST_WORKERS)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.min > self.max:
            raise Unusable(f"{self.min}..{self.max} ends before it begins", f"Write {self.max}..{self.min}")
        return self


class LimitsIn(Request):
    """What one worker may use."""

    memory: fields.Bytes | None = None
    cpus: Annotated[float, Field(gt=0, le=4096)] | None = None
    files: Annotated[int, Field(ge=16, le=1 << 20)] | None = None

    def to_model(self) -> Limits:
        """The value that the store keeps."""
        return Limits(memory=self.memory, cpus=self.cpus, files=self.files)


Command = Annotated[
    tuple[fields.Line, ...], BeforeValidator(_command, json_schema_input_type=str | list[str])
]


class RoleIn(Request):
    """Further processes beside the workers."""

    count: int = Field(default=1, ge=1, le=256)
    run: Command = ()
    limits: LimitsIn = LimitsIn()


class TotalIn(Request):
    """All the work, in steps or in epochs; 0 for ever."""

    steps: fields.Amount | None = None
    epochs: fields.Amount | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.steps is None) == (self.epochs is None):
            raise Unusable("give either steps or epochs", "Write total: {steps: 1000}")
        return self


class AfterIn(Request):
    """The job that must have ended first."""

    job: fields.Word
    condition: fields.EndOf = Field(default_factory=lambda: After(job="").condition)


class RetryIn(Request):
    """How often the job is started again."""

    failures: int = Field(default=Retry().failures, ge=0, le=1000)
    losses: int = Field(default=Retry().losses, ge=0, le=1000)


class CheckpointIn(Request):
    """Where the command keeps what it needs to go on."""

    dir: fields.Path = ""
    every: Annotated[int, Field(ge=1, le=10**12)] | None = None


Curve = Annotated[
    dict[int, float] | Literal["auto"] | None,
    BeforeValidator(_curve, json_schema_input_type=dict[str, float] | Literal["auto"] | None),
]
_MOST_ROLES = 16
Roles = Annotated[
    dict[Annotated[str, BeforeValidator(fields.as_role)], RoleIn],
    Field(max_length=_MOST_ROLES),
    fields.at_most(_MOST_ROLES),
]
AfterField = Annotated[AfterIn, BeforeValidator(_after, json_schema_input_type=str | AfterIn)]


class JobIn(Request):
    """A job as a user describes it."""

    name: fields.Name
    run: Command | None = None
    module: Annotated[
        tuple[fields.Line, ...] | None,
        BeforeValidator(_module, json_schema_input_type=str | list[str] | None),
    ] = None
    setup: fields.Line = ""
    env: fields.Variables = Field(default_factory=dict)
    workdir: fields.Path = ""
    environment: fields.Path = ""
    strategy: Annotated[str, BeforeValidator(fields.text(_strategy), json_schema_input_type=str)] = "command"
    workers: Annotated[WorkersIn, BeforeValidator(_workers, json_schema_input_type=int | str | WorkersIn)] = (
        WorkersIn(min=1, max=1)
    )
    preferred: Annotated[int, Field(ge=1, le=MOST_WORKERS)] | None = None
    gpus: Annotated[int, BeforeValidator(_gpus, json_schema_input_type=Literal[0, 1]), Field(ge=0, le=1)] = (
        Field(default=1, validation_alias=AliasChoices("gpus", "need_gpus"))
    )
    """Of each worker: 1 for one slot, 0 for a place beside the slots."""
    roles: Roles = Field(default_factory=dict)
    limits: LimitsIn = LimitsIn()
    total: Annotated[
        TotalIn | None, BeforeValidator(_total, json_schema_input_type=float | TotalIn | None)
    ] = None
    global_batch: Annotated[int, Field(ge=1, le=10**12)] | None = None
    deadline: fields.Moment | None = None
    curve: Curve = None
    profile: fields.Word | None = None
    checkpoint: Annotated[
        CheckpointIn | None, BeforeValidator(_checkpoint, json_schema_input_type=str | CheckpointIn | None)
    ] = None
    priority: Literal["normal", "urgent"] | None = None
    urgent: bool | None = None
    share: bool = False
    idle: Literal["tell", "shrink", "ignore"] | None = None
    """What is done if it does not use its GPUs; the platform's setting if not said."""
    start: Literal["parallel", "ordered"] = "parallel"
    after: AfterField | None = None
    node: fields.NodeName | None = None
    labels: fields.Labels = Field(default_factory=dict)
    retry: Annotated[RetryIn, BeforeValidator(_retry, json_schema_input_type=int | RetryIn)] = RetryIn()
    max_duration: fields.Seconds | None = None
    grace: fields.Seconds = 30.0
    params: fields.Params = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for check in (
            _check_command,
            _check_strategy,
            _check_sizes,
            _check_priority,
            _check_deadline,
            _check_without_gpu,
            _check_times,
        ):
            check(self)
        return self

    @property
    def is_urgent(self) -> bool:
        """Either way of saying so."""
        return self.urgent is True or self.priority == "urgent"

    @property
    def is_measured(self) -> bool:
        """Whether the curve is to be measured: because that was asked for, or because a deadline needs one."""
        unknown = self.curve is None and self.profile is None
        return self.curve == AUTO or (self.deadline is not None and unknown)

    def to_spec(self, now: float) -> tuple[JobSpec, float | None]:
        """The value that the store keeps, and the moment of the deadline. Raises InputInvalid."""
        return self.spec(), self.deadline_at(now)

    def spec(self) -> JobSpec:
        """The value that the store keeps."""
        return JobSpec(**_plain_fields(self), **_grouped_fields(self))

    def deadline_at(self, now: float) -> float | None:
        """When the deadline is, counted from now. Raises InputInvalid if that is no moment ahead."""
        if self.deadline is None:
            return None
        try:
            return quantities.deadline(self.deadline, now)
        except Unusable as error:
            raise InputInvalid(error.problem, remedy=error.remedy, field="deadline") from None


def _plain_fields(job: JobIn) -> dict[str, Any]:
    return {
        "name": job.name,
        "setup": job.setup,
        "env": job.env,
        "workdir": job.workdir,
        "environment": job.environment,
        "strategy": job.strategy,
        "preferred": job.preferred,
        "global_batch": job.global_batch,
        "deadline": job.deadline or "",
        "profile": job.profile or "",
        "share": job.share,
        "idle": job.idle or "",
        "cpu_only": job.gpus == 0,
        "node": job.node or "",
        "labels": job.labels,
        "max_duration": job.max_duration,
        "grace": job.grace,
        "params": job.params,
    }


def _grouped_fields(job: JobIn) -> dict[str, Any]:
    saved, after = job.checkpoint, job.after
    return {
        "run": job.run if job.module is None else ("python", "-m", *job.module),
        "min_workers": job.workers.min,
        "max_workers": job.workers.max,
        "roles": {
            name: Role(count=role.count, run=role.run, limits=role.limits.to_model())
            for name, role in job.roles.items()
        },
        "limits": job.limits.to_model(),
        "steps": None if job.total is None else job.total.steps,
        "epochs": None if job.total is None else job.total.epochs,
        "curve": job.curve if isinstance(job.curve, dict) else {},
        "auto": job.is_measured,
        "checkpoint": None if saved is None else Checkpoint(dir=saved.dir, every=saved.every),
        "urgent": job.is_urgent,
        "start": StartOrder(job.start),
        "after": None if after is None else After(job=after.job, condition=after.condition),
        "retry": Retry(failures=job.retry.failures, losses=job.retry.losses),
    }


def _check_command(job: JobIn) -> None:
    if (job.run is None) == (job.module is None):
        if job.run is not None:
            raise Unusable("both run and module are given", "Leave one of them out", "run")
        raise Unusable("nothing is said about what to run", "Add a line such as run: python train.py", "run")


def _check_strategy(job: JobIn) -> None:
    if job.roles and job.strategy in IN_PLACE:
        raise Unusable(
            f"with the strategy {job.strategy} there are workers only",
            "Leave roles out, or write strategy: command",
            "roles",
        )


def _check_sizes(job: JobIn) -> None:
    least, most = job.workers.min, job.workers.max
    if job.preferred is not None and not least <= job.preferred <= most:
        raise Unusable(
            f"{job.preferred} is not within workers, {least}..{most}", "Choose a size within", "preferred"
        )
    if isinstance(job.curve, dict) and job.profile is not None:
        raise Unusable("a curve is given too", "Leave one of them out", "profile")


def _check_priority(job: JobIn) -> None:
    if job.priority is not None and job.urgent is not None and job.urgent != (job.priority == "urgent"):
        raise Unusable("contradicts priority", "Leave one of them out", "urgent")


def _check_deadline(job: JobIn) -> None:
    if job.deadline is None:
        return
    endless = job.total is not None and not (job.total.steps or job.total.epochs)
    if endless or (job.total is None and not job.is_measured):
        raise Unusable("a deadline needs an amount of work", "Give total: {steps: 1000}", "deadline")
    if job.node is not None:
        raise Unusable("a deadline cannot be promised on one node", "Leave node or deadline out", "deadline")


def _check_without_gpu(job: JobIn) -> None:
    """A job without GPUs is outside of every plan: nothing about it can be promised, chosen or shared."""
    if job.gpus:
        return
    for field, asked, problem, remedy in (
        (
            "deadline",
            job.deadline is not None,
            "nothing is promised to a job without GPUs",
            "Leave deadline out",
        ),
        (
            "workers",
            job.workers.min != job.workers.max,
            "a job without GPUs has a fixed size",
            "Give one number",
        ),
        (
            "strategy",
            job.strategy != "command",
            "without GPUs there is one strategy",
            "Write strategy: command",
        ),
        ("share", job.share, "a job without GPUs has no slot to share", "Leave share out"),
        ("idle", job.idle is not None, "a job without GPUs leaves none idle", "Leave idle out"),
        ("curve", job.curve == AUTO, "the curve of a job without GPUs is not measured", "Leave curve out"),
    ):
        if asked:
            raise Unusable(problem, f"{remedy}, or leave gpus: 0 out", field)


def _check_times(job: JobIn) -> None:
    if job.max_duration is not None and job.max_duration <= 0:
        raise Unusable("0 is no time to run", "Give a time such as 2h, or leave it out", "max_duration")
    if job.grace > 3600:
        raise Unusable("this is longer than an hour", "Give at most 1h", "grace")
