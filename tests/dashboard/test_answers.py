"""Answers as pages tell them: promises, reasons, and offers that are still good when they are taken."""

from __future__ import annotations

from typing import Any

from tenuto.dashboard.answers import moved_lines, next_minute, offers_in, stretches, told_plan
from tenuto.wire.questions import DifferenceOut, FateOut, ForeseenOut, PlannedOut, PlanOut, StretchOut
from tenuto.wire.replies import ContractOut, OffersOut

AT = "2027-01-15T08:00:00.000Z"
LATER = "2027-01-15T09:00:00.000Z"


def a_contract(reply: str, offers: OffersOut | None = None, **fields: Any) -> ContractOut:
    return ContractOut(
        reply=reply, why="x", message="", answered_at=AT, offers=offers or OffersOut(), **fields
    )


def planned(reply: str, message: str = "", **fields: Any) -> PlannedOut:
    given: dict[str, Any] = {
        "name": "학습", "reply": reply, "message": message, "contract": None, "eta": ForeseenOut(), "place": {},
        "allocation": "", "reserved": [], "foreseen": [], "curve": {}, "curve_from": "",
    }  # fmt: skip
    return PlannedOut(**{**given, **fields})


def test_an_offer_is_a_full_minute_that_leaves_time_to_decide() -> None:
    assert next_minute("2027-01-15T08:00:00.000Z") == "2027-01-15T08:01Z"
    assert next_minute("2027-01-15T08:00:29.999Z") == "2027-01-15T08:01Z"
    assert next_minute("2027-01-15T08:00:45.000Z") == "2027-01-15T08:02Z"
    assert next_minute("2027-01-15T17:00:30.000+09:00") == "2027-01-15T08:01Z"


def test_a_no_comes_with_its_reason_and_what_could_be_had() -> None:
    contract = a_contract("declined", OffersOut(earliest=AT, steps=1234.7, in_the_way=["k4m2x9w7pq"]))
    told = told_plan(planned("declined", f"not by {AT} <b>", contract=contract), "epochs")

    assert (told.tone, told.headline) == ("bad", "No")
    assert "&lt;b&gt;" in told.reason
    assert "<time" in told.reason
    by_deadline, by_work = told.offers
    assert by_deadline.edit == {"deadline": "2027-01-15T08:01Z"}
    assert '<time datetime="2027-01-15T08:01Z">' in by_deadline.label
    assert (by_work.label, by_work.edit) == ("Accept 1,234 epochs", {"total": {"epochs": 1234}})
    assert 'href="/jobs/k4m2x9w7pq"' in told.facts["In the way"]


def test_a_yes_tells_until_when_and_on_what() -> None:
    told = told_plan(
        planned(
            "admitted",
            contract=a_contract("admitted", promised=LATER, expected=AT, share=4),
            eta=ForeseenOut(start=AT, finish=AT, finish_p90=LATER),
            reserved=[StretchOut(begin=AT, end=LATER, slots=4)],
            allocation="node-0:4",
        ),
        "steps",
    )

    assert (told.tone, told.reason, told.offers) == ("good", "", [])
    assert list(told.facts) == [
        *("Promised", "By the reservation", "Reserved slots", "Begins", "Done", "Reserved", "Place")
    ]
    assert told.facts["Reserved slots"] == "4 slots"
    assert "nine times of ten" in told.facts["Done"]


def test_no_contract_has_no_offers_and_less_than_one_step_is_none() -> None:
    assert offers_in(None, "steps") == []
    assert offers_in(a_contract("declined", OffersOut(steps=0.4)), "steps") == []


def test_stretches_are_told_one_after_the_other() -> None:
    parts = [StretchOut(begin=AT, end=LATER, slots=1)] * 5 + [StretchOut(begin=AT, end=None, slots=2)]

    assert stretches(parts).count("1 slot until") == 4
    assert stretches(parts).endswith("and 2 more stretches")
    assert stretches(parts[-1:]) == "2 slots"


def test_jobs_that_would_be_moved_are_listed_with_before_and_after() -> None:
    def fate(finish: str) -> FateOut:
        return FateOut(promise="none", promised=None, eta=ForeseenOut(finish=finish))

    moved = DifferenceOut(
        id="a1", name="<script>", state="queued", effect="later", before=fate(AT), after=fate(LATER)
    )
    plan = PlanOut(as_of=AT, policy="edf", jobs=[], moved=[moved], moved_more=3, exact=True, remarks=[])

    lines = moved_lines(plan)
    assert "&lt;script&gt;" in lines
    assert AT in lines
    assert LATER in lines
    assert "and 3 more" in lines
    assert moved_lines(plan.model_copy(update={"moved": [], "moved_more": 0})) == ""
