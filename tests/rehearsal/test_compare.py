"""Two tellings of one trace: what differs, and where they part."""

from __future__ import annotations

from typing import Any

from tenuto.rehearsal.compare import differences, parting
from tenuto.rehearsal.walk import Change, Walk


def a_walk(job: str = "일", **fields: Any) -> Walk:
    told: dict[str, Any] = {
        "submitted": 0.0,
        "admitted": True,
        "promised": 100.0,
        "started": 0.0,
        "finished": 80.0,
        "changes": (Change(0.0, 2), Change(30.0, 4)),
    }
    return Walk(job=job, **(told | fields))


def test_who_says_the_same_does_not_differ() -> None:
    assert differences([a_walk()], [a_walk()]) == []
    assert parting([a_walk()], [a_walk()]) is None


def test_everything_that_is_not_exactly_the_same_is_told() -> None:
    live = a_walk(promised=None, started=0.5, finished=80.000_001, changes=(Change(0.0, 2),))

    found = [str(difference) for difference in differences([a_walk()], [live])]

    assert found == [
        "job 일: promised 100.000000 s simulated, never live",
        "job 일: started 0.000000 s simulated, 0.500000 s live",
        "job 일: finished 80.000000 s simulated, 80.000001 s live",
        "job 일: rescales 2 simulated, 1 live",
    ]


def test_as_many_rescales_to_other_sizes_are_another_way() -> None:
    live = a_walk(changes=(Change(0.0, 2), Change(30.0, 1)))

    (difference,) = differences([a_walk()], [live])

    assert (difference.what, difference.live) == ("slots", "2 at 0.000 s, 1 at 30.000 s")


def test_two_tellings_part_where_a_job_first_gets_other_slots() -> None:
    simulated = [a_walk("a", changes=(Change(0.0, 2), Change(50.0, 4))), a_walk("b")]
    live = [a_walk("a", changes=(Change(0.0, 2), Change(50.0, 8))), a_walk("b", changes=(Change(0.0, 2),))]

    found = parting(simulated, live)

    assert found is not None
    assert (found.at, found.job) == (30.0, "b")
    assert "gets 4 slots in the simulator, and keeps what it has on the platform" in str(found)


def test_another_answer_comes_before_everything_that_follows_from_it() -> None:
    refused = a_walk(admitted=False, why="no_room", started=None, finished=None, changes=(), submitted=7.0)

    found = parting([a_walk(submitted=7.0)], [refused])

    assert found is not None
    assert (found.at, found.simulated, found.live) == (7.0, "is accepted", "is declined")


def test_who_parts_only_at_the_end_is_told_by_it() -> None:
    found = parting([a_walk()], [a_walk(finished=None)])

    assert found is not None
    assert (found.at, found.live) == (80.0, "does not end")


def test_a_walk_of_a_faster_trace_is_told_in_the_seconds_of_the_trace() -> None:
    walk = a_walk(submitted=1.0, finished=3.0).in_trace_time(60.0)

    assert (walk.submitted, walk.finished, walk.duration) == (60.0, 180.0, 120.0)
    assert walk.changes[1] == Change(1800.0, 4)
