"""The buttons of scaling: which can be pressed, and why not."""

from __future__ import annotations

import pytest
from tests.dashboard.job_values import a_job, a_map

from tenuto.dashboard.job.sizing import FREE_NODES, node_lines, sizes


def test_a_job_between_its_sizes_can_have_one_more_and_one_fewer() -> None:
    can = sizes(a_job())

    assert (can.least, can.size, can.most) == (1, 2, 4)
    assert can.fewer.works
    assert can.more.works
    assert can.auto.why_not == "The policy decides already."


@pytest.mark.parametrize(
    ("job", "fewer", "more"),
    [
        (a_job(workers=1), "It needs 1 at least.", ""),
        (a_job(workers=4), "", "It can have 4 at most."),
        (a_job(pin={"workers": 4, "nodes": {}}), "", "It can have 4 at most."),
        (a_job(state="succeeded", workers=0), "The job has ended.", "The job has ended."),
        (a_job(wish="cancel"), "The job is being cancelled.", "The job is being cancelled."),
        (a_job(max_workers=1), "Its size is fixed at 1.", "Its size is fixed at 1."),
    ],
)
def test_a_button_that_cannot_work_says_why(job: object, fewer: str, more: str) -> None:
    can = sizes(job)  # type: ignore[arg-type]
    assert (can.fewer.why_not, can.more.why_not) == (fewer, more)


def test_a_difference_counts_from_the_pin_and_auto_takes_it_away() -> None:
    can = sizes(a_job(workers=2, pin={"workers": 3, "nodes": {"a": 3}}))

    assert can.size == 3
    assert can.standing == "Pinned to 3: 3 on a."
    assert can.auto.works


def test_a_job_that_waits_is_given_a_number_and_no_difference() -> None:
    can = sizes(a_job(state="queued", workers=0, slots={}))

    assert "choose a number" in can.more.why_not
    assert can.slide.works


def test_nodes_of_the_job_come_first_and_then_those_with_a_free_slot() -> None:
    lines, more = node_lines(a_job(), a_map("k4m2x9w7pq", "other", b="bb", c="b.", a="aa.."))

    assert [(line.node, line.workers, line.free) for line in lines] == [("a", 2, 2), ("c", 0, 1)]
    assert more == 0
    assert lines[0].fewer.works
    assert lines[1].fewer.why_not == "It has no worker there."
    assert lines[1].more.works


def test_a_node_that_is_full_of_the_job_can_give_no_more() -> None:
    [line], _ = node_lines(a_job(), a_map(a="aa"))
    assert line.more.why_not == "It has all 2 slots of the node."


def test_a_pin_by_node_is_what_a_click_counts_from() -> None:
    lines, _ = node_lines(a_job(pin={"workers": 3, "nodes": {"a": 2, "b": 1}}), a_map(a="aa..", b=".."))
    assert [(line.node, line.workers, line.wanted) for line in lines] == [("a", 2, 2), ("b", 0, 1)]


def test_a_job_for_one_node_may_grow_there_only() -> None:
    job = a_job(spec={"name": "train", "run": "true", "node": "a"})
    lines, _ = node_lines(job, a_map(a="aa..", b=".."))
    assert [line.more.why_not for line in lines] == ["", "It may run on a only."]


def test_of_many_free_nodes_a_few_are_listed_and_a_text_finds_others() -> None:
    found = a_map(a="aa..", **{f"node-{number}": "...." for number in range(100)})

    lines, more = node_lines(a_job(), found)
    assert (len(lines), more) == (1 + FREE_NODES, 100 - FREE_NODES)

    lines, more = node_lines(a_job(), found, "NODE-77")
    assert ([line.node for line in lines], more) == (["a", "node-77"], 0)
