"""Whatever the store may hold, questions have answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.forecast.records import NOW, a_record
from tests.forecast.scenes import scenes

from tenuto.forecast.case import Around, Case
from tenuto.forecast.dry_run import dry_run
from tenuto.forecast.explain import explain
from tenuto.forecast.future import foresee
from tenuto.forecast.picture import Scene
from tenuto.forecast.whatif import differences, with_nodes, without_jobs, without_nodes
from tenuto.policy.registry import POLICIES
from tenuto.settings import Learning

RULING = ["elasticflow", "fifo", "chronus-greedy"]
FEW = settings(max_examples=8, deadline=None)


@pytest.mark.parametrize("name", RULING)
@FEW
@given(scene=scenes(), work=st.sampled_from([0, 60_000]))
def test_any_two_worlds_can_be_compared(name: str, scene: Scene, work: int) -> None:
    policy = POLICIES[name]
    hit = without_nodes(scene, ["node-0"])
    after = without_jobs(with_nodes(hit.scene, [3]), ["job-0002"])

    found = differences(
        foresee(scene, policy, {}, work), foresee(after, policy, {}, work), lost=hit.lost, everybody=True
    )

    assert len({one.job.id for one in found.found}) == len(found.found)


@pytest.mark.parametrize("name", RULING)
@FEW
@given(scene=scenes(), due=st.sampled_from([None, 50.0, 4000.0]))
def test_any_scene_has_an_answer_to_a_newcomer(name: str, scene: Scene, due: float | None) -> None:
    new = a_record(99, deadline=None if due is None else NOW + due)

    [plan] = dry_run(scene, [new], POLICIES[name], {}, Learning()).plans

    assert plan.contract is not None


@pytest.mark.parametrize("name", RULING)
@FEW
@given(scene=scenes(), which=st.integers(0, 7))
def test_any_job_of_any_scene_can_be_explained(name: str, scene: Scene, which: int) -> None:
    if which >= len(scene.jobs):
        return
    job = scene.jobs[which]
    around = Around(others=[POLICIES["themis"]])

    told = explain(Case(replace(scene), job, POLICIES[name], {}, Learning(), around))

    assert told.why and all(sentence.endswith(".") for sentence in told.sentences)
