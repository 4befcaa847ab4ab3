"""A stored spec in the form in which it was submitted: what is shown, edited and submitted again.

`JobIn.model_validate(form_of(spec)).to_spec(now)` gives the same spec. What was left out stays left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenuto.model.job import JobSpec, Limits, Retry, Role
from tenuto.wire.api import AUTO, SHELL
from tenuto.wire.quantities import duration_text

_PLAIN = (
    "setup",
    "workdir",
    "environment",
    "strategy",
    "preferred",
    "global_batch",
    "deadline",
    "profile",
    "share",
    "idle",
    "node",
)
_DEFAULT = JobSpec(name="", run=())


def form_of(spec: JobSpec) -> dict[str, Any]:
    """The spec as a job file would say it."""
    form: dict[str, Any] = {"name": spec.name, "run": _command(spec.run), "workers": _workers(spec)}
    form |= {key: value for key in _PLAIN if (value := getattr(spec, key)) != getattr(_DEFAULT, key)}
    form |= {key: dict(value) for key in ("env", "labels", "params") if (value := getattr(spec, key))}
    form |= _work(spec) | _conditions(spec)
    if spec.cpu_only:
        form["gpus"] = 0
    if limits := _limits(spec.limits):
        form["limits"] = limits
    if spec.roles:
        form["roles"] = {name: _role(role) for name, role in spec.roles.items()}
    return form


def _command(run: tuple[str, ...]) -> str | list[str]:
    shell_line = len(run) == 3 and run[:2] == SHELL and run[2].strip()
    return run[2] if shell_line else list(run)


def _workers(spec: JobSpec) -> int | str:
    least, most = spec.min_workers, spec.max_workers
    return least if least == most else f"{least}..{most}"


def _work(spec: JobSpec) -> dict[str, Any]:
    form: dict[str, Any] = {}
    if spec.steps is not None:
        form["total"] = {"steps": spec.steps}
    elif spec.epochs is not None:
        form["total"] = {"epochs": spec.epochs}
    if spec.auto:
        form["curve"] = AUTO
    elif spec.curve and not spec.profile:
        form["curve"] = {str(size): rate for size, rate in spec.curve.items()}
    if spec.checkpoint is not None:
        form["checkpoint"] = _given(dir=spec.checkpoint.dir or None, every=spec.checkpoint.every)
    return form


def _conditions(spec: JobSpec) -> dict[str, Any]:
    form: dict[str, Any] = {}
    if spec.urgent:
        form["priority"] = "urgent"
    if spec.start is not _DEFAULT.start:
        form["start"] = str(spec.start)
    if spec.after is not None:
        form["after"] = {"job": spec.after.job, "condition": str(spec.after.condition)}
    if spec.retry != Retry():
        form["retry"] = {"failures": spec.retry.failures, "losses": spec.retry.losses}
    if spec.max_duration is not None:
        form["max_duration"] = duration_text(spec.max_duration)
    if spec.grace != _DEFAULT.grace:
        form["grace"] = duration_text(spec.grace)
    return form


def _limits(limits: Limits) -> dict[str, Any]:
    return _given(memory=limits.memory, cpus=limits.cpus, files=limits.files)


def _role(role: Role) -> dict[str, Any]:
    command = _command(role.run) if role.run else None
    return _given(count=role.count, run=command, limits=_limits(role.limits) or None)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def edited(form: Mapping[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    """A form with some keys replaced; None takes a key away. Of two keys that exclude each other the new one counts."""
    new = {key: value for key, value in form.items() if key not in edit}
    for key in edit:
        for other in _EXCLUDES.get(key, ()):
            if other not in edit:
                new.pop(other, None)
    return new | {key: value for key, value in edit.items() if value is not None}


_EXCLUDES = {
    "run": ("module",),
    "module": ("run",),
    "curve": ("profile",),
    "profile": ("curve",),
    "urgent": ("priority",),
    "priority": ("urgent",),
}
