"""Replaying as the reference does: what is refused, what is reported, what is compiled."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from tests.sim.artifact.reference import figure_10
from tests.sim.artifact.stories import Submitted, a_story, told

import tenuto.sim.artifact
from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.sim.artifact import POLICIES, Revision, replay, warm_up


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputInvalid, match=r"'fifo' is not reproduced.*edf-admission"):
        told([Submitted()], "fifo")


def test_a_slot_must_be_whole_seconds() -> None:
    with pytest.raises(InputInvalid, match=r"a slot of 0\.5 s"):
        told([Submitted()], slot=0.5)


def test_nodes_must_be_equal() -> None:
    slots = frozen(np.array([4, 8]))
    cluster = Cluster("mixed", slots, frozen(np.zeros(2, dtype=np.int64)), ("a", "b"))

    with pytest.raises(InputInvalid, match="different numbers of slots"):
        told([Submitted()], cluster=cluster)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_admitted_job_ends_and_every_other_never_starts(policy: str) -> None:
    outcome = replay(figure_10(), policy, slot=240, revision=Revision.HEAD)

    assert np.array_equal(outcome.admitted, ~np.isnan(outcome.finished))
    assert np.array_equal(outcome.admitted, ~np.isnan(outcome.started))
    assert (outcome.changes[outcome.admitted] >= 1).all()
    assert (outcome.preempted <= outcome.changes).all()
    assert [bool(reason) for reason in outcome.reason] == (~outcome.admitted).tolist()


@pytest.mark.parametrize("policy", ["elasticflow", "edf-admission"])
def test_admission_promises_a_finish_within_the_deadline(policy: str) -> None:
    workload = figure_10()

    outcome = replay(workload, policy, slot=240, revision=Revision.HEAD)

    assert np.array_equal(np.isnan(outcome.promised), ~outcome.admitted)
    assert (outcome.promised[outcome.admitted] <= workload.trace.deadline[outcome.admitted]).all()


def test_progress_is_reported_seldom_and_to_the_end() -> None:
    jobs = [Submitted(at=100 * row, steps=60, deadline=1e6) for row in range(500)]
    reports: list[tuple[int, int]] = []

    replay(
        a_story(jobs),
        "edf",
        slot=60,
        revision=Revision.HEAD,
        progress=lambda done, total: reports.append((done, total)),
    )

    assert len(reports) <= 200
    assert reports[-1][0] > 490
    assert {total for _, total in reports} == {500}


def test_two_replays_are_equal() -> None:
    first, second = (replay(figure_10(), "elasticflow", slot=240, revision=Revision.HEAD) for _ in range(2))

    assert np.array_equal(first.finished, second.finished)
    assert np.array_equal(first.events.efficiency, second.events.efficiency)


@pytest.mark.parametrize("policy", POLICIES)
def test_after_the_warm_up_no_kernel_is_new(policy: str) -> None:
    warm_up(policy)
    before = compiled_kernels()

    replay(figure_10(), policy, slot=240, revision=Revision.R2022, layouts=True)

    assert compiled_kernels() == before


def compiled_kernels() -> dict[str, int]:
    """For each kernel of the package how many kinds of arguments it was loaded for."""
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(tenuto.sim.artifact.__path__, "tenuto.sim.artifact.")
    ]
    return {
        f"{module.__name__}.{name}": len(member.signatures)
        for module in modules
        for name, member in vars(module).items()
        if isinstance(member, Dispatcher)
    }
