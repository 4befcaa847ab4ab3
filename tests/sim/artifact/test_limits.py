"""How many GPUs a job may get at most."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.artifact.stories import Submitted, a_story

from tenuto.errors import InputInvalid
from tenuto.model.columns import Ints
from tenuto.sim.artifact.limits import column_limits, elasticflow_limits
from tenuto.sim.read_profiles import load_profiles


def gpus(limits: Ints) -> int:
    return 1 << int(limits[0])


@pytest.mark.parametrize(
    ("profiles", "model", "batch", "elasticflow", "others"),
    [
        ("a100", "deepspeech2", 32, 32, 32),
        ("a100", "deepspeech2", 64, 64, 64),
        ("a100", "gpt2", 128, 16, 64),
        ("a100", "gpt2", 256, 32, 64),
        ("a100", "bert", 64, 8, 64),
        ("a100", "bert", 128, 16, 64),
        ("a100", "inception3", 64, 16, 64),
        ("a100", "inception3", 128, 32, 64),
        ("a100", "resnet50", 64, 32, 64),
        ("a100", "resnet50", 256, 64, 64),
        ("a100", "vgg16", 64, 32, 64),
        ("a100", "vgg16", 128, 64, 64),
        ("t4", "bert", 384, 16, 64),
        ("t4", "cifar10", 2048, 16, 64),
        ("t4", "deepspeech2", 320, 32, 32),
        ("t4", "deepspeech2", 640, 64, 64),
        ("t4", "yolov3", 64, 4, 16),
        ("t4", "ncf", 32768, 1, 64),
        ("t4", "imagenet", 3200, 64, 64),
    ],
)
def test_limits_are_those_of_the_reference(
    profiles: str, model: str, batch: int, elasticflow: int, others: int
) -> None:
    workload = a_story([Submitted(model=model, batch=batch)], profiles=load_profiles(profiles))

    assert gpus(elasticflow_limits(workload)) == elasticflow
    assert gpus(column_limits(workload)) == others


def test_no_limit_lies_beyond_the_measured_sizes() -> None:
    workload = a_story([Submitted(rates={1: 1.0, 2: 1.9, 8: 5.0})])

    assert gpus(elasticflow_limits(workload)) == 2
    assert gpus(column_limits(workload)) == 2


def test_a_job_that_was_not_measured_on_one_gpu_is_refused() -> None:
    workload = a_story([Submitted(rates={2: 1.9, 4: 3.0}, requested=2)])

    with pytest.raises(InputInvalid, match="not measured on 1 slot"):
        elasticflow_limits(workload)


def test_sizes_that_are_no_powers_of_two_are_ignored() -> None:
    workload = a_story([Submitted(rates={1: 1.0, 2: 1.9, 3: 2.7, 4: 3.5})])

    assert np.count_nonzero(workload.sizes == 3) == 1
    assert gpus(elasticflow_limits(workload)) == 4
