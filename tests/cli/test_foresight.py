"""What is foreseen, as people read it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from tenuto.cli.foresight import differences_table, planned_facts
from tenuto.cli.humane import clock, parsed

NOW = datetime(2027, 1, 15, 8, 0, tzinfo=UTC)
NOTHING = {"start": None, "finish": None, "finish_p90": None, "later_than": None}


def a_fate(**eta: str) -> dict[str, Any]:
    return {"promise": "none", "promised": None, "eta": {**NOTHING, **eta}}


def test_of_a_job_of_unknown_length_it_is_told_when_it_begins() -> None:
    now, later = a_fate(start="2027-01-15T08:00:00Z"), a_fate(start="2027-01-15T08:20:00Z")
    one = {"id": "k1", "name": "끝", "state": "queued", "effect": "later", "before": now, "after": later}

    out = Console(width=200)
    with out.capture() as shown:
        out.print(differences_table([one], NOW))

    begins = clock(parsed("2027-01-15T08:20:00Z"), NOW)
    assert f"unknown  -> unknown, begins {begins}" in shown.get()


@pytest.mark.parametrize("unit", ["steps", "epochs"])
def test_work_that_would_fit_is_told_in_its_unit(unit: str) -> None:
    contract = {"message": f"declined: no; 1072 {unit} would fit", "offers": {"steps": 1072.0}}
    job: dict[str, Any] = {
        "name": "a",
        "reply": "declined",
        "message": contract["message"],
        "contract": contract,
        "eta": NOTHING,
        "reserved": [],
        "foreseen": [],
        "allocation": "",
        "curve_from": "",
    }

    assert planned_facts(job, NOW)["or"] == f"1,072 {unit} by that deadline"
