"""Whatever is sent, it is a job or there is a sentence for it."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tenuto.errors import InputInvalid
from tenuto.wire.api import JobIn
from tenuto.wire.asks import JobEdit, PolicyIn, ScaleIn
from tenuto.wire.problems import validated
from tenuto.wire.spec_form import form_of

NOW = 1_800_000_000.0
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["1..8", "+6h", "2GB", "auto", "python train.py", "2030-01-01", "\ud800", "\0", "command"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["min", "max", "1", "steps", "job", "run", "memory", "x"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from([*JobIn.model_fields, "wrokers"]), ANYTHING, max_size=5))
def test_a_submission_is_a_job_or_gets_a_remedy(given: dict[str, Any]) -> None:
    try:
        job = validated(JobIn, {"name": "praca", "run": "true", **given})
        spec, _ = job.to_spec(NOW)
    except InputInvalid as error:
        assert error.remedy and error.problem
    else:
        assert validated(JobIn, form_of(spec)).spec() == spec


@given(st.sampled_from([JobEdit, ScaleIn, PolicyIn]), st.data())
def test_so_is_every_other_request(model: Any, data: st.DataObject) -> None:
    given = data.draw(
        ANYTHING | st.dictionaries(st.sampled_from([*model.model_fields]), ANYTHING, max_size=4)
    )
    try:
        validated(model, given)
    except InputInvalid as error:
        assert error.remedy and error.problem
