"""Synthetic traces: the reference's bytes, its distributions, and every draw seeded."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.sim.trace_columns import columns_of

from tenuto.errors import InputInvalid
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.library import find_trace
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import parse_trace, read_trace
from tenuto.sim.write_trace import Form, write_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tenuto.sim.trace import Trace

FIGURE_10 = GeneratorOptions(jobs=100, mean_interarrival=1500, seed=1, min_tightness=1.5, max_tightness=1.5)
MIXED = GeneratorOptions(jobs=60, mean_interarrival=300, seed=7, best_effort_share=0.3)


@pytest.fixture(scope="module")
def a100() -> Profiles:
    return load_profiles("a100")


def text_of(trace: Trace, form: Form) -> str:
    stream = io.StringIO()
    write_trace(trace, stream, form)
    return stream.getvalue()


def test_figure_10s_trace_is_the_references_byte_for_byte(a100: Profiles) -> None:
    text = text_of(generate(FIGURE_10, a100), Form.REFERENCE)

    assert text.splitlines()[1:4] == [
        "0,0,7246,resnet50,5896,256,1,3930,0",
        "1,4686,19793,gpt2,11932,256,1,4830,0",
        "2,9116,2274,deepspeech2,10244,32,1,752,0",
    ]
    checksum = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    assert checksum == "989c168b3dffcb5038beec233de96431"


@pytest.mark.parametrize(
    ("file", "options"),
    [
        ("1000job_1500lam.csv", GeneratorOptions(jobs=1000, mean_interarrival=1500)),
        ("200jobs_900lam_0.3.csv", GeneratorOptions(jobs=200, mean_interarrival=900, best_effort_share=0.3)),
    ],
)
def test_all_but_the_references_unseeded_draws_are_the_same(
    shared: Path, a100: Profiles, file: str, options: GeneratorOptions
) -> None:
    theirs = columns_of(read_trace(shared / "data" / "traces" / "generated" / file))
    ours = columns_of(generate(options, a100))

    for unseeded in ("deadline", "best_effort"):
        del theirs[unseeded], ours[unseeded]
    assert ours == theirs


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(a100: Profiles) -> None:
    once = text_of(generate(MIXED, a100), Form.TENUTO)

    assert text_of(generate(MIXED, a100), Form.TENUTO) == once
    assert text_of(generate(replace(MIXED, seed=8), a100), Form.TENUTO) != once


@pytest.mark.parametrize("form", [Form.TENUTO, Form.REFERENCE])
def test_reading_the_file_gives_back_the_trace(a100: Profiles, form: Form) -> None:
    trace = generate(MIXED, a100)

    read = parse_trace(text_of(trace, form), file="again.csv", name="again")

    assert columns_of(read) == columns_of(trace)
    assert read.line.tolist() == trace.line.tolist()


def test_other_deadlines_change_nothing_but_deadlines(a100: Profiles) -> None:
    before = columns_of(generate(MIXED, a100))
    after = columns_of(generate(replace(MIXED, min_tightness=1.2, max_tightness=1.4), a100))

    assert after.pop("deadline") != before.pop("deadline")
    assert after == before


def test_twenty_thousand_jobs_follow_the_distributions(a100: Profiles) -> None:
    trace = generate(GeneratorOptions(jobs=20_000, mean_interarrival=1500, best_effort_share=0.2), a100)

    sizes, counts = np.unique(trace.requested, return_counts=True)
    shares = dict(zip(sizes.tolist(), (counts / len(trace)).tolist(), strict=True))
    assert shares == pytest.approx({1: 0.83, 2: 0.03, 4: 0.03, 8: 0.10, 16: 0.01}, abs=0.01)
    assert np.diff(trace.submitted).mean() == pytest.approx(1500, rel=0.03)
    assert trace.best_effort.mean() == pytest.approx(0.2, abs=0.01)
    assert trace.duration.min() >= 600
    assert trace.duration.max() <= 600_000
    assert (trace.duration >= 60 * 10**2.5).mean() == pytest.approx(0.2, abs=0.01)
    assert len(set(zip(trace.models, trace.batch.tolist(), strict=True))) == 14
    urgent = ~trace.best_effort
    tightness = (trace.deadline - trace.submitted)[urgent] / trace.duration[urgent]
    assert tightness.min() >= 0.49
    assert tightness.max() <= 1.51
    assert tightness.mean() == pytest.approx(1.0, abs=0.01)


def test_without_time_between_them_all_jobs_come_at_once(a100: Profiles) -> None:
    trace = generate(GeneratorOptions(jobs=5, mean_interarrival=0), a100)

    assert trace.submitted.tolist() == [0.0] * 5


def test_no_job_requests_more_than_the_most_allowed(a100: Profiles) -> None:
    trace = generate(GeneratorOptions(jobs=500, mean_interarrival=10, max_slots=4), a100)

    assert set(trace.requested.tolist()) == {1, 2, 4}


def test_profiles_of_other_models_are_used_as_they_are() -> None:
    trace = generate(GeneratorOptions(jobs=300, mean_interarrival=10), load_profiles("t4"))

    assert set(trace.models) == {"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"}


def test_a_model_is_only_drawn_for_sizes_at_which_it_runs() -> None:
    small, large = Curve({1: 1.0}), Curve({1: 1.0, 2: 2.0, 4: 3.0, 8: 4.0})
    profiles = Profiles("own", "own", {("small", 64): small, ("large", 64): large})

    trace = generate(GeneratorOptions(jobs=300, mean_interarrival=10, max_slots=8), profiles)

    assert {
        size for model, size in zip(trace.models, trace.requested.tolist(), strict=True) if model == "small"
    } == {1}


def test_the_bundled_trace_can_be_made_again_byte_for_byte(a100: Profiles) -> None:
    options = GeneratorOptions(jobs=200, mean_interarrival=240, seed=1, best_effort_share=0.2)

    text = text_of(generate(options, a100), Form.TENUTO)

    assert find_trace("lab-200").read_bytes() == text.encode()


BAD = {
    "no jobs": (replace(MIXED, jobs=0), "--jobs of 1 or more"),
    "a slip of the finger": (replace(MIXED, jobs=10**12), "--jobs of 1,000,000 or less"),
    "negative time": (replace(MIXED, mean_interarrival=-1.0), "--interarrival of 0"),
    "endless time": (replace(MIXED, mean_interarrival=float("inf")), "--interarrival of 0"),
    "nan": (replace(MIXED, mean_interarrival=float("nan")), "--interarrival of 0"),
    "no slots": (replace(MIXED, max_slots=0), "--max-slots of 1 or more"),
    "unprofiled slots": (replace(MIXED, max_slots=3), "--max-slots among 1, 2, 4, 8"),
    "no time at all": (replace(MIXED, min_tightness=0.0), "--min-tightness from 0.01"),
    "range upside down": (replace(MIXED, min_tightness=2.0), "--max-tightness not below it"),
    "more than all": (replace(MIXED, best_effort_share=1.5), "--best-effort between 0 and 1"),
}


@pytest.mark.parametrize(("options", "remedy"), BAD.values(), ids=BAD.keys())
def test_impossible_wishes_are_refused(a100: Profiles, options: GeneratorOptions, remedy: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        generate(options, a100)

    assert remedy in caught.value.remedy
