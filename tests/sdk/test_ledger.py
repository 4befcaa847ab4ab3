"""The ledger accepts the course as it is, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.errors import InputInvalid
from tenuto.sdk.course import Batch, Course
from tenuto.sdk.ledger import Ledger, LedgerRefused


def run_through(ledger: Ledger, course: Course, generation: int = 1) -> Ledger:
    ledger.joined(generation, world=2)
    for step in range(ledger.steps, course.steps):
        ledger.applied(course.at(step), generation)
    return ledger


def test_an_epoch_over_seven_generations_reads_as_people_say_it() -> None:
    course = Course.of_epochs(60_000, 256, 1)
    ledger = Ledger(60_000)
    for generation, stop in enumerate([10, 20, 50, 100, 150, 200, course.steps], start=3):
        ledger.joined(generation, world=generation)
        for step in range(ledger.steps, stop):
            ledger.applied(course.at(step), generation)

    assert ledger.summary() == "60,000 samples, each once, over 7 generations"
    assert (ledger.samples, ledger.steps, ledger.generations, ledger.epochs) == (60_000, 235, 7, 1.0)


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        (0, "0 of 10 samples, each once, over 1 generation"),
        (2, "8 of 10 samples, each once, over 1 generation"),
        (3, "10 samples, each once, over 1 generation"),
        (4, "10 samples, each once in one epoch and 4 of them once more, over 1 generation"),
        (9, "10 samples, each once in each of 3 epochs, over 1 generation"),
        (10, "10 samples, each once in each of 3 epochs and 4 of them once more, over 1 generation"),
    ],
)
def test_the_sentence_is_true_at_any_step(steps: int, sentence: str) -> None:
    assert run_through(Ledger(10), Course(10, 4, steps)).summary() == sentence


def test_an_account_goes_on_with_its_own_course_only() -> None:
    ledger = run_through(Ledger(10), Course(10, 4, 4))

    ledger.must_fit(Course(10, 4, steps=99))
    with pytest.raises(InputInvalid, match="10 samples; this has 12") as other_dataset:
        ledger.must_fit(Course(12, 4, steps=99))
    with pytest.raises(InputInvalid, match="does not fit a global batch of 5") as other_batch:
        ledger.must_fit(Course(10, 5, steps=99))

    assert (other_dataset.value.field, other_batch.value.field) == ("dataset", "global_batch")


def test_lost_workers_are_told() -> None:
    ledger = Ledger(10)
    ledger.joined(1, world=3)
    ledger.joined(2, world=2, lost=1)
    ledger.joined(2, world=2, lost=1)  # whoever comes to know of it twice
    ledger.joined(4, world=1, lost=2)

    assert ledger.summary() == "0 of 10 samples, each once, over 3 generations, 3 workers lost"


def test_a_generation_that_nobody_is_in_cannot_join() -> None:
    with pytest.raises(LedgerRefused, match="no members"):
        Ledger(10).joined(1, world=0)


def test_an_update_of_a_generation_that_has_not_joined_is_refused() -> None:
    ledger = Ledger(10)
    ledger.joined(1, world=1)

    with pytest.raises(LedgerRefused, match="generation 2 has not joined"):
        ledger.applied(Course(10, 4, 3).at(0), generation=2)


WRONG = [
    pytest.param({"step": 1, "start": 4, "stop": 8}, "leaves samples out", id="a step left out"),
    pytest.param({"start": 1}, "leaves samples out", id="a sample left out"),
    pytest.param({"epoch": 1}, "leaves samples out", id="an epoch left out"),
    pytest.param({"stop": 0}, "leaves samples out", id="nothing in it"),
    pytest.param({"stop": 11}, "leaves samples out", id="beyond the dataset"),
]


@pytest.mark.parametrize(("change", "reason"), WRONG)
def test_a_gap_is_refused_and_changes_nothing(change: dict[str, int], reason: str) -> None:
    ledger = Ledger(10)
    ledger.joined(1, world=1)
    before = ledger.to_json()

    with pytest.raises(LedgerRefused, match=reason):
        ledger.applied(replace(Batch(step=0, epoch=0, start=0, stop=4), **change), 1)

    assert ledger.to_json() == before


@given(
    samples=st.integers(1, 40),
    global_batch=st.integers(1, 50),
    epochs=st.integers(1, 3),
    data=st.data(),
)
def test_any_way_to_the_end_counts_every_sample_once_an_epoch(
    samples: int, global_batch: int, epochs: int, data: st.DataObject
) -> None:
    """Rescales, losses and repeated steps at random: only the course as it is gets through."""
    course = Course.of_epochs(samples, global_batch, epochs)
    ledger, generation = Ledger(samples), 1
    ledger.joined(generation, world=1)
    counted: list[tuple[int, int]] = []
    while ledger.steps < course.steps:
        batch = course.at(data.draw(st.integers(0, course.steps - 1) | st.just(ledger.steps)))
        try:
            ledger.applied(batch, generation)
        except LedgerRefused:
            assert batch.step != ledger.steps
            generation += 1
            ledger.joined(generation, world=data.draw(st.integers(1, 5)))
            ledger = Ledger.from_json(
                json.loads(json.dumps(ledger.to_json()))
            )  # as if moved to another worker
            ledger.applied(course.at(ledger.steps), generation)
            batch = course.at(ledger.steps - 1)
        counted += [(batch.epoch, at) for at in range(batch.start, batch.stop)]
        assert ledger.samples == len(counted)

    assert counted == [(epoch, at) for epoch in range(epochs) for at in range(samples)]


@given(samples=st.integers(1, 40), global_batch=st.integers(1, 50), steps=st.integers(1, 30), data=st.data())
def test_a_repeated_batch_is_always_refused(
    samples: int, global_batch: int, steps: int, data: st.DataObject
) -> None:
    course = Course(samples, global_batch, steps)
    ledger = run_through(Ledger(samples), course)

    with pytest.raises(LedgerRefused, match="counted already"):
        ledger.applied(course.at(data.draw(st.integers(0, steps - 1))), 1)
