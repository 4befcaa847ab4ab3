"""Job by job, the reference's own results: who is admitted, when each job ends, whether that is in time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.sim.artifact.reference import OURS, Run, decided, figure_10, reference_decided, shipped_log

from tenuto.sim.artifact import Revision, replay

QUICK = [
    Run("figure10/ef-accessctrl", "100jobs_1500lam", "n16g8", 240),
    Run("figure10/ef-accessctrl.2022-12", "100jobs_1500lam", "n16g8", 240),
    Run("figure10/edf", "100jobs_1500lam", "n16g8", 240),
    Run("figure8a/ef-accessctrl", "elasticVpollux_e", "n16g4", 60, "t4"),
    Run("figure8a/edf", "elasticVpollux_e", "n16g4", 60, "t4"),
    Run("figure8b_cluster10/ef-accessctrl", "cluster10", "n32g8", 60),
    Run("figure8b_cluster10/ef-accessctrl.2022-12", "cluster10", "n32g8", 60),
    Run("figure8b_cluster10/edf", "cluster10", "n32g8", 60),
    Run("figure8b_philly_103959/ef-accessctrl", "philly_103959", "n32g8", 60),
    Run("figure8b_philly_103959/edf", "philly_103959", "n32g8", 60),
    Run("figure8b_cluster01/edf", "cluster01", "n64g8", 60),
    Run("figure8b_cluster05/edf", "cluster05", "n64g8", 60),
    Run("figure9_n8g8/ef-accessctrl", "1000job_1500lam", "n8g8", 240),
    Run("figure9_n8g8/ef", "1000job_1500lam", "n8g8", 240),
    Run("figure9_n8g8/edf", "1000job_1500lam", "n8g8", 240),
    Run("figure9_n8g8/edf-accessctrl", "1000job_1500lam", "n8g8", 240),
    Run("figure9_n16g8/ef-accessctrl", "1000job_1500lam", "n16g8", 240),
    Run("figure9_n16g8/ef", "1000job_1500lam", "n16g8", 240),
    Run("figure9_n16g8/edf", "1000job_1500lam", "n16g8", 240),
    Run("figure9_n16g8/edf-accessctrl", "1000job_1500lam", "n16g8", 240),
    Run("figure11_0.3/ef-accessctrl", "200jobs_900lam_0.3", "n8g8", 240),
    Run("figure11_0.3/edf", "200jobs_900lam_0.3", "n8g8", 240),
    Run("functional_resnet_cifar/ef-accessctrl", "resnet_cifar_trace", "n1g8", 240),
    Run("functional_resnet_cifar/edf", "resnet_cifar_trace", "n1g8", 240),
    Run("figure10/gandiva", "100jobs_1500lam", "n16g8", 240),
    Run("figure10/dlas-gpu", "100jobs_1500lam", "n16g8", 240),
    Run("figure10/dlas-gpu.2022-12", "100jobs_1500lam", "n16g8", 240),
    Run("figure8a/gandiva", "elasticVpollux_e", "n16g4", 60, "t4"),
    Run("figure8a/dlas-gpu", "elasticVpollux_e", "n16g4", 60, "t4"),
    Run("figure8b_cluster10/gandiva", "cluster10", "n32g8", 60),
    Run("figure8b_cluster10/dlas-gpu", "cluster10", "n32g8", 60),
    Run("figure8b_philly_103959/gandiva", "philly_103959", "n32g8", 60),
    Run("figure8b_philly_103959/dlas-gpu", "philly_103959", "n32g8", 60),
    Run("figure8b_cluster01/gandiva", "cluster01", "n64g8", 60),
    Run("figure8b_cluster01/dlas-gpu", "cluster01", "n64g8", 60),
    Run("figure8b_cluster02/gandiva", "cluster02", "n64g8", 60),
    Run("figure8b_cluster02/dlas-gpu", "cluster02", "n64g8", 60),
    Run("figure8b_cluster05/gandiva", "cluster05", "n64g8", 60),
    Run("figure8b_cluster05/dlas-gpu", "cluster05", "n64g8", 60),
    Run("figure8b_cluster04/gandiva", "cluster04", "n128g8", 60),
    Run("figure8b_cluster04/dlas-gpu", "cluster04", "n128g8", 60),
    Run("figure11_0.3/gandiva", "200jobs_900lam_0.3", "n8g8", 240),
    Run("figure11_0.3/dlas-gpu", "200jobs_900lam_0.3", "n8g8", 240),
    Run("functional_resnet_cifar/gandiva", "resnet_cifar_trace", "n1g8", 240),
    Run("functional_resnet_cifar/dlas-gpu", "resnet_cifar_trace", "n1g8", 240),
]
BIG = [
    Run("figure8b_cluster02/edf", "cluster02", "n64g8", 60),
    Run("figure8b_cluster08/edf", "cluster08", "n128g8", 60),
    Run("figure8b_cluster09/edf", "cluster09", "n128g8", 60),
    Run("figure8b_cluster07/gandiva", "cluster07", "n128g8", 60),
    Run("figure8b_cluster07/dlas-gpu", "cluster07", "n128g8", 60),
    Run("figure8b_cluster08/gandiva", "cluster08", "n128g8", 60),
    Run("figure8b_cluster08/dlas-gpu", "cluster08", "n128g8", 60),
    Run("figure8b_cluster09/gandiva", "cluster09", "n128g8", 60),
    Run("figure8b_cluster09/dlas-gpu", "cluster09", "n128g8", 60),
]


@pytest.mark.parametrize(
    "run", [*QUICK, *(pytest.param(run, marks=pytest.mark.big) for run in BIG)], ids=lambda run: run.name
)
def test_every_job_fares_as_in_the_reference(shared: Path, run: Run) -> None:
    workload, outcome = run.replay(shared)

    assert decided(workload, outcome) == reference_decided(shared, run)


@pytest.mark.parametrize(
    ("policy", "revision"),
    [
        ("ef-accessctrl", Revision.R2022),
        ("edf", Revision.HEAD),
        ("gandiva", Revision.HEAD),
        ("dlas-gpu", Revision.R2022),
    ],
)
def test_every_job_fares_as_in_the_log_that_came_with_the_reference(
    shared: Path, policy: str, revision: Revision
) -> None:
    workload = figure_10()

    outcome = replay(workload, OURS[policy], slot=240, revision=revision)

    times = zip(outcome.started.tolist(), outcome.finished.tolist(), strict=True)
    assert dict(zip(workload.trace.ids, times, strict=True)) == shipped_log(shared, policy)


def test_two_switches_are_filled_as_in_the_reference(shared: Path) -> None:
    """The reference's run was stopped after its first 1089 jobs; these are what it had logged by then."""
    run = Run("figure8b_cluster01/ef-accessctrl", "cluster01", "n64g8", 60)

    workload, outcome = run.replay(shared)

    completed = np.argsort(outcome.finished, kind="stable")[:1089]
    last = outcome.finished[completed].max()
    submitted = workload.trace.submitted
    assert last == 3478769
    assert (outcome.finished - submitted)[completed].mean() == 5256.164370982553
    assert np.count_nonzero(outcome.met[completed]) == 1083
    assert np.count_nonzero(~outcome.admitted & (submitted <= last)) == 227
