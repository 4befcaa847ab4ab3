"""Every sample has its step, whatever the sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.sdk.course import Batch, Course


def test_the_last_batch_of_an_epoch_is_smaller_if_the_division_does_not_come_out_even() -> None:
    course = Course.of_epochs(samples=10, global_batch=4, epochs=2)

    assert [course.at(step) for step in range(course.steps)] == [
        Batch(step=0, epoch=0, start=0, stop=4),
        Batch(step=1, epoch=0, start=4, stop=8),
        Batch(step=2, epoch=0, start=8, stop=10),
        Batch(step=3, epoch=1, start=0, stop=4),
        Batch(step=4, epoch=1, start=4, stop=8),
        Batch(step=5, epoch=1, start=8, stop=10),
    ]


@given(samples=st.integers(1, 500), global_batch=st.integers(1, 600), epochs=st.integers(1, 4))
def test_an_epoch_has_every_position_once_and_in_order(samples: int, global_batch: int, epochs: int) -> None:
    course = Course.of_epochs(samples, global_batch, epochs)

    batches = [course.at(step) for step in range(course.steps)]

    positions = [(batch.epoch, at) for batch in batches for at in range(batch.start, batch.stop)]
    assert positions == [(epoch, at) for epoch in range(epochs) for at in range(samples)]
    assert all(0 < batch.size <= global_batch for batch in batches)


@pytest.mark.parametrize(("samples", "batch", "steps"), [(0, 4, 1), (10, 0, 1), (10, 4, -1)])
def test_a_course_of_nothing_is_refused(samples: int, batch: int, steps: int) -> None:
    with pytest.raises(ValueError, match="no such course"):
        Course(samples, batch, steps)
