"""What may be asked of jobs, nodes and the policy besides submitting: the bodies of these requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from tenuto.wire import fields
from tenuto.wire.api import AUTO, AfterField
from tenuto.wire.fields import Request
from tenuto.wire.json_limits import RECORD, check_json
from tenuto.wire.quantities import Unusable
from tenuto.wire.record_rules import MAX_COUNT, problem_of_record

_MOST = 1_000_000
_MOST_NODES = 4096
MOST_RECORDS = 500
"""Records that one request may bring."""


class JobEdit(Request):
    """What may be changed about a job that has not ended; null takes a value away."""

    deadline: fields.Moment | None = None
    priority: Literal["normal", "urgent"] | None = None
    after: AfterField | None = None
    name: fields.Name | None = None
    labels: fields.Labels | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not self.model_fields_set:
            raise Unusable("nothing is to be changed", "Give deadline, priority, after, name or labels")
        for needed in ("priority", "name"):
            if needed in self.model_fields_set and getattr(self, needed) is None:
                raise Unusable("cannot be taken away", "Give a value, or leave the key out", needed)
        return self


class ResubmitIn(Request):
    """Which keys of the job shall be different this time; null takes a key away."""

    edit: fields.JobForm = Field(default_factory=dict)


def _size(written: object) -> object:
    if written == AUTO or (isinstance(written, int) and not isinstance(written, bool)):
        return written
    raise Unusable("this is no number of workers", "Write a number such as 4, or auto")


class ScaleIn(Request):
    """A size to be pinned: `{workers: 4}`, `{workers: "auto"}`, `{delta: 1, node: "a"}` or `{nodes: {"a": 2}}`."""

    workers: Annotated[
        int | Literal["auto"] | None,
        BeforeValidator(_size, json_schema_input_type=int | Literal["auto"]),
    ] = None
    delta: Annotated[int, Field(ge=-_MOST, le=_MOST)] | None = None
    node: fields.NodeName | None = None
    nodes: (
        Annotated[
            dict[fields.NodeName, Annotated[int, Field(ge=0, le=_MOST)]],
            Field(max_length=_MOST_NODES),
            fields.at_most(_MOST_NODES),
        ]
        | None
    ) = None
    force: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [key for key in ("workers", "delta", "nodes") if getattr(self, key) is not None]
        if len(given) != 1:
            raise Unusable("say one size", "Give workers, delta or nodes, and only one of them", "workers")
        if self.node is not None and self.delta is None:
            raise Unusable("goes with delta only", "Use nodes: {NAME: workers} for sizes", "node")
        if self.delta == 0:
            raise Unusable("0 changes nothing", "Give a number such as 1 or -1", "delta")
        return self


class SchedulingIn(Request):
    """The settings of rounds that can be changed while the platform runs."""

    interval: Annotated[fields.Seconds, Field(le=86_400)] | None = None
    margin: Annotated[float, Field(ge=0, le=10)] | None = None
    placement: Literal["buddy", "pack", "spread", "random"] | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    start_cost: Annotated[fields.Seconds, Field(le=86_400)] | None = None
    rescale_cost: Annotated[fields.Seconds, Field(le=86_400)] | None = None
    wait_nodes: Annotated[int, Field(ge=0, le=100_000)] | None = None


class PolicyIn(Request):
    """Another policy, other settings, or both."""

    name: fields.Word | None = None
    settings: fields.PolicySettings = Field(default_factory=dict)
    """Those of `SchedulingIn`, and the policy's own."""
    force: bool = False

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if self.name is None and not self.settings:
            raise Unusable("nothing is to be changed", "Give name, settings or both")
        return self


class CurveIn(Request):
    """Speeds that somebody has measured: steps per second by number of workers."""

    curve: Annotated[dict[int, float], BeforeValidator(fields.curve, json_schema_input_type=dict[str, float])]
    kind: fields.Word = "cpu"
    """Of the devices on which they were measured."""


class MetricsIn(Request):
    """What was told about a worker (see `wire.records`), from `first` on without a gap. No records: a question."""

    worker: fields.Word
    """Its id as text."""
    teller: Literal["worker", "supervisor"] = "worker"
    """Who numbers these records: the worker itself, or its supervisor."""
    first: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """The `seq` of the first one."""
    skip: bool = False
    """Records before `first` that were not sent are lost for good."""
    records: Annotated[list[dict[str, Any]], Field(max_length=MOST_RECORDS)] = Field(default_factory=list)

    # Of the field, not of the model: FastAPI runs validators of the model again on what was validated in a thread.
    @field_validator("records")
    @classmethod
    def _in_order(cls, records: list[dict[str, Any]], others: ValidationInfo) -> list[dict[str, Any]]:
        for index, record in enumerate(records):
            try:
                check_json(record, RECORD)
            except Unusable as error:
                raise Unusable(error.problem, error.remedy, path=(index, *error.path)) from None
            if "first" not in others.data:  # which is a problem of its own
                continue
            if (problem := problem_of_record(record, others.data["first"] + index)) is not None:
                raise Unusable(problem, "Write records as wire.records says", path=(index,))
        return records
