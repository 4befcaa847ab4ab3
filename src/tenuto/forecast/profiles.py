"""Curves by name: measured ones that the store keeps, and those of the laboratory (`a100/resnet50@128`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from tenuto.errors import InputInvalid
from tenuto.model.curve import Profiles
from tenuto.model.job import JobSpec
from tenuto.sim.read_profiles import BUILT_IN, load_profiles
from tenuto.suggest import did_you_mean

Stored = Mapping[str, Mapping[str, float]]
"""The store's own profiles as JSON has them: steps per second by number of workers, under a name."""


def resolve_curve(spec: JobSpec, stored: Stored) -> dict[int, float]:
    """A job's curve before anything was measured: as given, else that of its profile, else none."""
    if spec.curve or not spec.profile:
        return dict(spec.curve)
    if spec.profile in stored:
        return {int(size): rate for size, rate in stored[spec.profile].items()}
    bundled = _bundled()
    if spec.profile not in bundled:
        known = [*stored, *bundled]
        raise InputInvalid(
            f"no profile is called {spec.profile!r}",
            remedy=f"{did_you_mean(spec.profile, known)}Give the curve itself, such as curve: {{1: 3.2, 2: 6.0}}, "
            "or let it be measured with curve: auto",
            field="profile",
        )
    return dict(bundled[spec.profile])


def with_profile(stored: Stored, spec: JobSpec, curve: Mapping[int, float]) -> dict[str, dict[str, float]]:
    """The stored profiles with a measured one under the name of its profile, or of its job."""
    measured = {str(size): rate for size, rate in sorted(curve.items())}
    return {**{name: dict(rates) for name, rates in stored.items()}, spec.profile or spec.name: measured}


@cache
def _bundled() -> Mapping[str, Mapping[int, float]]:
    """All curves that come with tenuto; they are part of the package as its code is."""
    return {name: rates for kind in BUILT_IN for name, rates in _named(load_profiles(kind)).items()}


def _named(profiles: Profiles) -> dict[str, Mapping[int, float]]:
    return {
        f"{profiles.name}/{model}@{batch}": curve.rate for (model, batch), curve in profiles.curves.items()
    }
