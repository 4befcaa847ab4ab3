"""The optimizer, the scheduler and the scaler of a loop, kept still while a step must change nothing.

They stay the user's own objects: only the methods that change something ask first. So a loop written for one process
also works where a share is computed in several pieces, and where a step is aborted because somebody was lost.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

from tenuto.sdk.pytorch.step import Step


def guard_optimizer(optimizer: Any, step: Step) -> None:
    """`step` acts once per update; `zero_grad` leaves alone what the pieces of a share have gathered."""
    original_step, original_zero = optimizer.step, optimizer.zero_grad

    def guarded_step(_self: Any, *args: Any, **kwargs: Any) -> Any:
        step.on_met()
        if not step.is_under_way or step.may_update:
            step.was_updated = True
            return original_step(*args, **kwargs)
        return None

    def guarded_zero(_self: Any, *args: Any, **kwargs: Any) -> None:
        if not step.is_under_way or not step.is_split or step.was_updated:
            original_zero(*args, **kwargs)

    _replace(optimizer, "step", guarded_step, original_step)
    _replace(optimizer, "zero_grad", guarded_zero, original_zero)


def guard(companion: Any, names: Iterable[str], step: Step) -> None:
    """Of a scheduler or a scaler: these methods act once per update.

    It gets a class of its own, because a scheduler takes all that it has as an attribute for a part of its state.
    """
    methods = {
        name: _guarded(getattr(type(companion), name), step) for name in names if hasattr(companion, name)
    }
    companion.__class__ = type(type(companion).__name__, (type(companion),), methods)


def _guarded(original: Callable[..., Any], step: Step) -> Callable[..., Any]:
    @functools.wraps(original)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not step.is_under_way or step.may_update:
            return original(self, *args, **kwargs)
        return None

    return guarded


def _replace(owner: Any, name: str, guarded: Callable[..., Any], original: Callable[..., Any]) -> None:
    """As a bound method with the original's marks: schedulers look for theirs, and bind it once more."""
    guarded.__dict__.update(getattr(original, "__dict__", {}))
    guarded.__name__ = name
    guarded.__doc__ = original.__doc__
    setattr(owner, name, types.MethodType(guarded, owner))
