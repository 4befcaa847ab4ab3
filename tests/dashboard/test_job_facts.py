"""What a job's page says in words."""

from __future__ import annotations

from typing import Any

from tests.dashboard.job_values import a_job, an_attempt, an_event

from tenuto.dashboard.job import facts
from tenuto.dashboard.job.explaining import explained
from tenuto.dashboard.job.happenings import MOST_MARKS, event_rows, marks, phases_html
from tenuto.dashboard.wording import sentence
from tenuto.wire.questions import ExplainOut

LATER = "2026-11-16T18:00:00.000Z"
CONTRACT: dict[str, Any] = {
    "reply": "admitted", "why": "", "message": "admitted", "answered_at": LATER, "promised": LATER, "expected": None,
    "share": 1, "firm_at": None, "offers": {},
}  # fmt: skip


def test_progress_tells_the_step_that_was_reported_and_the_speed() -> None:
    told = facts.progress(a_job())
    assert (told.share, told.text) == (0.12, "120 of 1,000 steps · 10 steps/s · 12 %")


def test_who_tells_no_steps_has_no_progress() -> None:
    nothing = {"left": None, "total": None, "done": None, "speed": 1.0, "step": None, "unit": "steps"}
    assert facts.progress(a_job(progress=nothing)).text == "It has not told of any step yet."


def test_a_promise_is_told_with_its_moment_and_what_broke_it() -> None:
    told = facts.promise_html(
        a_job(contract=CONTRACT, promise={"state": "broken", "breach": "node <a> was lost"})
    )
    assert 'class="t-bad">broken' in told
    assert f'datetime="{LATER}"' in told
    assert "node &lt;a&gt; was lost" in told


def test_an_estimate_has_its_median_and_nine_of_ten() -> None:
    eta = {"start": None, "finish": LATER, "finish_p90": "2026-11-16T20:00:00.000Z", "as_of": LATER}
    assert "nine of ten by <time" in facts.eta_html(a_job(eta=eta))
    ended = a_job(state="succeeded", ended_at=LATER)
    assert facts.eta_html(ended).startswith("ended <time")


def test_what_is_being_ended_says_so() -> None:
    assert facts.state(a_job(wish="cancel")) == "running, ending"
    assert facts.state(a_job(state="paused", wish="pause")) == "paused"


def test_where_it_is_names_every_node() -> None:
    told = facts.where_html(a_job(workers=3, slots={"a": [0, 1], "<b>": [2]}))
    assert told.startswith("3: 2 on <a ")
    assert "&lt;b&gt;" in told


def test_attempts_tell_how_workers_ended_newest_first() -> None:
    killed = an_attempt("1.worker.1", ended_at=LATER, exit_code=137, reason="killed")
    rows = facts.attempt_rows([an_attempt(), killed])
    assert [(row["worker"], row["end"]) for row in rows] == [
        ("1.1", "exit code 137, killed"),
        ("1.0", "running"),
    ]


def test_the_phases_of_a_rescale_are_a_bar_and_words() -> None:
    told = phases_html(
        {"warm_up_ms": 900, "agree_ms": 0, "form_ms": 80.4, "transfer_ms": None, "first_step_ms": 20}
    )
    assert "warm up 900 · form 80 · first step 20 ms" in told
    assert told.count("<i ") == 3
    assert phases_html({}) == ""


def test_events_are_rows_newest_first_with_nothing_of_theirs_as_html() -> None:
    rows = event_rows([an_event("submitted"), an_event("worker", after="lost", reason="<b>killed</b>")])
    assert [row["what"] for row in rows] == ["lost a worker", "was submitted"]
    assert rows[0]["why"] == "&lt;b&gt;killed&lt;/b&gt;"


def test_only_some_events_are_marks_and_only_the_newest() -> None:
    events = [an_event("verdict"), *(an_event("checkpoint") for _ in range(2 * MOST_MARKS))]
    assert len(marks(events)) == MOST_MARKS
    assert marks(events, since=2e9) == []


def test_moments_in_a_sentence_are_for_the_viewers_zone() -> None:
    told = sentence("promised 2026-11-16T18:00Z, <late>")
    assert '<time datetime="2026-11-16T18:00Z">' in told
    assert "&lt;late&gt;" in told


def test_an_explanation_has_sentences_holders_and_remedies() -> None:
    told = explained(
        ExplainOut.model_validate(
            {
                "id": "k4m2x9w7pq", "name": "train", "state": "queued", "why": "no_slots",
                "sentences": ["It waits for 1 slot."], "holds": {}, "reserved": [], "foreseen": [], "eta": {},
                "in_the_way": [{"id": "j2", "name": "<big>", "slots": 8, "promised": None, "finish": LATER}],
                "remedies": [{"kind": "do", "sentence": "add a slot", "command": "tenuto node add"}], "as_of": LATER,
            }
        )
    )  # fmt: skip
    assert "It waits for 1 slot." in told
    assert "&lt;big&gt;</a> has 8 slots" in told
    assert "<code>tenuto node add</code>" in told
