"""`tenuto plan`, `explain` and `whatif`: what people read, and what programs get."""

from __future__ import annotations

import time
from pathlib import Path

from tests.cli.live.site import Site, as_json, ok, tenuto

from tenuto.model.job import Progress
from tenuto.model.phase import Phase

CURVE = {1: 1.0, 2: 2.0, 4: 4.0}


def a_file(text: str, name: str = "job.yaml") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


def a_job(deadline: str = "", steps: int = 1000) -> str:
    due = f"deadline: {deadline}\n" if deadline else ""
    work = f"workers: 1..4\ntotal: {{steps: {steps}}}\ncurve: {{1: 1, 2: 2, 4: 4}}\n"
    return a_file(f"name: 훈련\nrun: python train.py\n{work}{due}")


def a_running_job(site: Site, key: str = "k1", **fields: object) -> None:
    now = time.time()
    progress = Progress(left=1000.0, as_of=now, speed=4.0, ready_at=now - 1.0, changed_at=now - 1.0)
    site.add_job(
        key,
        "läuft",
        spec={"steps": 1000.0},
        phase=Phase.RUNNING,
        slots={"node-0": (0, 1, 2, 3)},
        curve=CURVE,
        progress=progress,
        **fields,
    )


def test_a_dry_run_tells_everything_and_submits_nothing(site: Site) -> None:
    site.add_node("node-0")

    told = ok("submit", "--dry-run", a_job("+1h"))

    assert "admitted: yes, with a promise" in told
    assert "place     node-0:4" in told
    assert "4 slots until" in told
    assert told.rstrip().endswith("Nothing was submitted.")
    assert site.jobs() == []


def test_plan_is_the_same_by_another_name_and_ends_with_3_for_a_no(site: Site) -> None:
    site.add_node("node-0")

    result = tenuto("plan", a_job("+10s"))

    assert result.exit_code == 3
    assert "declined" in result.stdout
    assert "could have" in result.stdout
    assert site.jobs() == []


def test_a_dry_run_names_who_would_be_moved(site: Site) -> None:
    site.add_node("node-0")
    a_running_job(site)

    told = ok("plan", a_job("+5m"))

    assert "It would move 1 job:" in told
    assert "läuft" in told
    assert "later" in told


def test_options_change_what_is_planned_as_they_change_what_is_submitted(site: Site) -> None:
    site.add_node("node-0")

    told = as_json("plan", a_job("+1h"), "--name", "andere", "--steps", "10", "--json")

    assert [job["name"] for job in told["jobs"]] == ["andere"]
    assert told["jobs"][0]["contract"]["reply"] == "admitted"


def test_a_mistake_in_a_file_is_told_with_its_place(site: Site) -> None:
    site.add_node("node-0")
    file = a_file("name: x\nrun: x\nafter: niemand\n")

    result = tenuto("plan", file)

    assert "job.yaml, line 3" in str(result.exception)


def test_an_explanation_reads_as_sentences(site: Site) -> None:
    site.add_node("node-0")
    a_running_job(site)
    site.add_job("k2", "wartet", spec={"steps": 100.0, "min_workers": 4}, curve={4: 4.0})

    told = ok("explain", "wartet")

    assert told.splitlines()[0] == "wartet (k2) is queued."
    assert "It waits for 4 slots at least; 0 of 4 are idle." in told
    assert "What would help:" in told
    assert "(tenuto whatif --add-slots 4)" in told
    assert as_json("explain", "wartet", "--json")["why"] == "slots_taken"


def test_what_if_shows_before_and_after(site: Site) -> None:
    site.add_node("node-0")
    site.add_node("node-1")
    a_running_job(site)

    told = ok("whatif", "--lose", "node-0")

    assert told.startswith("If node-0 is lost (4 slots):")
    assert "4 slots can be used instead of 8." in told
    assert "->" in told
    assert "1 job later, 0 jobs as before." in told
    assert told.rstrip().endswith("Nothing was changed.")


def test_thoughts_can_be_combined(site: Site) -> None:
    site.add_node("node-0")
    a_running_job(site)

    told = as_json(
        *("whatif", "--add", a_job("+1h"), "--add-nodes", "2x8", "--add-slots", "4", "--cancel", "läuft"),
        *("--policy", "edf-admission", "--set", "margin=0.3", "--all", "--json"),
    )

    assert told["slots"] == {"before": 4, "after": 24}
    assert [job["effect"] for job in told["jobs"]] == ["cancelled"]
    assert [job["reply"] for job in told["added"]] == ["admitted"]


def test_a_deadline_is_moved_from_where_it_is(site: Site) -> None:
    site.add_node("node-0")
    due = time.time() + 7200.0
    a_running_job(site, deadline=due)

    told = as_json("whatif", "--deadline", "läuft=+2h", "--all", "--json")

    assert len(told["changes"]) == 1
    assert tenuto("whatif", "--deadline", "läuft").exception is not None


def test_nothing_and_nonsense_are_refused(site: Site) -> None:
    assert "nothing is to be different" in str(tenuto("whatif").exception)
    assert "2x8" in str(tenuto("whatif", "--add-nodes", "8").exception)
    assert "there is no node" in str(tenuto("whatif", "--lose", "nowhere").exception)
