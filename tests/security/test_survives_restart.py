"""Property: whatever the API accepts survives a restart, as it was shown before."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from tests.security.poison import HUGE, SURROGATE, forget_decoded, nested
from tests.server.serving import NOW, Served, a_form, a_server

from tenuto.wire.json_limits import MAX_DEPTH, MAX_INTEGER, MAX_VALUES, MIN_INTEGER

AT_THE_LIMITS = st.sampled_from(
    [
        *(nested(levels) for levels in (MAX_DEPTH - 2, MAX_DEPTH - 1, MAX_DEPTH, 197, 250)),
        *(MIN_INTEGER - 1, MIN_INTEGER, MAX_INTEGER, MAX_INTEGER + 1, HUGE, 1 << 53, (1 << 53) + 1),
        *(0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e15, 1e16, float("nan"), float("inf")),
        *(SURROGATE, "\0", "\U0010ffff", "\u202e\x1b]52;c;\x07", "\u2028", "e\u0301", "\ufeff", ""),
        [0] * (MAX_VALUES - 1),
        "ł" * 32_000,
    ]
)
TEXTS = st.text(max_size=12) | st.sampled_from(["команда", "a" * 63, "a" * 64, SURROGATE, "\x7f", "²"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | AT_THE_LIMITS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
SIZES = st.integers(1, 8).map(str) | st.sampled_from(["01", "4096", "4097", "1" * 400, "²"])
RATES = st.floats() | st.integers(1, 10**16) | st.sampled_from([HUGE, 1e15, 1e-300, 5e-324])
FORMS = st.fixed_dictionaries(
    {},
    optional={
        "params": st.dictionaries(TEXTS, VALUES, max_size=3),
        "labels": st.dictionaries(TEXTS, TEXTS, max_size=3),
        "env": st.dictionaries(st.sampled_from(["A", "B_2", "", "a=b", SURROGATE]), TEXTS, max_size=2),
        "curve": st.dictionaries(SIZES, RATES, max_size=3),
        "limits": st.fixed_dictionaries({}, optional={"memory": VALUES, "cpus": VALUES}),
        "total": st.fixed_dictionaries({}, optional={"steps": RATES, "epochs": RATES}),
    },
)
COUNTS = st.sampled_from([0, 1, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, HUGE, -1])
RECORDS = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["step", "rescale", "checkpoint", "summary", "loss", "hung", "of another version"]
        ),
        "at": st.sampled_from([NOW, NOW + 0.1, 0, -5.9e10, 9.9e10, 1e12, float("nan")]),
    },
    optional={
        "step": COUNTS,
        "generation": COUNTS,
        "world": COUNTS,
        "rank": COUNTS,
        "seconds": RATES,
        "samples": RATES,
        "samples_per_second": RATES,
        "values": st.dictionaries(TEXTS, VALUES, max_size=3),
        **dict.fromkeys(("why", "problem", "sentence", "worker", "reason", "node"), VALUES),
        **dict.fromkeys(("pause_ms", "before", "after"), VALUES | RATES),
    },
)


def shown(served: Served) -> dict[str, Any]:
    """What the API shows of jobs, records and events."""
    jobs = served.get("/jobs", limit=500)["items"]
    found: dict[str, Any] = {"events": served.get("/events", limit=500)["items"]}
    for job in jobs:
        found[job["id"]] = served.get(f"/jobs/{job['id']}")["spec"]
        found[f"{job['id']}/metrics"] = served.get(f"/jobs/{job['id']}/metrics")
    for path in ("/cluster", "/overview", "/report", "/timeline", "/curves", "/table/jobs"):
        served.get(path)
    page = served.http.get(f"{served.url}/metrics")
    assert page.status_code == 200, page.text
    return found


def send(served: Served, path: str, body: Any) -> Any | None:
    """What was granted; None if it was refused."""
    answer = served.http.post(path, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 201, 422), answer.text
    event("granted" if answer.is_success else "refused")
    return answer.json() if answer.is_success else None


# A counterexample may hold large values; without this, the warning about them would hide it.
@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(
    max_examples=5,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(forms=st.lists(FORMS, min_size=20, max_size=20), records=st.lists(RECORDS, min_size=40, max_size=40))
def test_whatever_is_accepted_survives_a_restart(
    forms: list[dict[str, Any]], records: list[dict[str, Any]]
) -> None:
    with TemporaryDirectory() as directory:
        with a_server(Path(directory)) as served:
            job = served.submit("trénink")["id"]
            for form in forms:
                send(served, "/jobs", a_form(**form))
            following = 0
            for record in records:
                whole = {"step": 1, "generation": 1, **record, "seq": following}
                body = {"worker": f"{job}.1.worker.0", "first": following, "records": [whole]}
                granted = send(served, f"/jobs/{job}/metrics", body)
                following = following if granted is None else granted["next"]
            before = shown(served)
        forget_decoded()
        with a_server(Path(directory)) as again:
            assert shown(again) == before
            wanted = again.post(f"/jobs/{job}/metrics", {"worker": f"{job}.1.worker.0"})
            assert wanted == {"next": following}
            assert not again.get("/events", kind="unreadable")["items"]
