"""Numbers of a job over time: windows, what is new put to what was known, and the charts made of them."""

from __future__ import annotations

from tests.dashboard.job_values import BEGUN, a_job, an_attempt, an_event, columns

from tenuto.dashboard.job.course import POINTS, Course, Window, lasting, steps_a_second, window, with_holes
from tenuto.dashboard.job.happenings import marks
from tenuto.dashboard.job.held import held
from tenuto.dashboard.job.rows import chart_rows, cpu_use, gpu_use, reported, step_times
from tenuto.dashboard.job.stacked import height, stacked
from tenuto.wire.replies import NodeOut

MINUTE = Window(BEGUN, BEGUN + 200.0, open=True)


def course(*items: object) -> Course:
    made = Course()
    made.add(items, made.since(MINUTE), MINUTE)  # type: ignore[arg-type]
    return made


def a_gpu_node(name: str, devices: int) -> NodeOut:
    slots = [{"index": at, "device": str(at), "kind": "gpu", "job": None} for at in range(devices)]
    return NodeOut.model_validate(
        {
            "name": name, "number": 0, "state": "online", "address": "", "total": devices, "used": 0, "slots": slots,
            "cpu": {"total": 0, "used": 0, "jobs": []}, "jobs": [], "joined_at": "", "heard_at": "", "labels": {},
            "occupied": {"cpu": 0, "cpu_total": 0, "gpu": 0, "gpu_total": devices},
        }
    )  # fmt: skip


def test_the_whole_run_begins_with_the_job_and_ends_with_it() -> None:
    now = BEGUN + 7200.0
    assert window(a_job(), None, now) == Window(BEGUN, now, open=True)
    assert window(a_job(), 600.0, now).since == now - 600.0
    ended = a_job(state="succeeded", ended_at="2026-11-16T09:10:00.000Z")
    assert window(ended, None, now) == Window(BEGUN, BEGUN + 602.0, open=False)


def test_a_line_never_has_too_many_points() -> None:
    for seconds in (1.0, 60.0, 3600.0, 86_400.0, 400 * 86_400.0):
        seen = Window(0.0, seconds, open=True)
        assert seconds / seen.step <= POINTS


def test_only_what_is_new_is_asked_for_and_replaces_what_was_half_known() -> None:
    made = course(columns("", [0.0, 100.0, 199.0], step=[1.0, 2.0, 3.0]))
    later = Window(BEGUN, BEGUN + 210.0, open=True)

    since = made.since(later)
    assert BEGUN + 170.0 < since < BEGUN + 200.0
    made.add([columns("", [199.0, 205.0], step=[3.5, 4.0])], since, later)

    assert [value for _, value in made.lines["k4m2x9w7pq", "", "step"]] == [1.0, 2.0, 3.5, 4.0]


def test_everything_is_asked_for_again_after_a_while_and_for_another_time() -> None:
    made = course(columns("", [0.0], step=[1.0]))
    assert made.since(Window(BEGUN, BEGUN + 240.0, open=True)) == BEGUN, "late numbers may have come"
    assert made.since(Window(BEGUN, BEGUN + 4000.0, open=True)) == BEGUN, "coarser"
    assert made.since(Window(BEGUN - 100.0, BEGUN + 3900.0, open=True)) == BEGUN - 100.0, "earlier"


def test_what_is_before_the_window_is_forgotten() -> None:
    made = course(columns("", [0.0, 150.0], step=[1.0, 2.0]))
    slid = Window(BEGUN + 100.0, BEGUN + 300.0, open=True)
    made.add([], made.since(slid), slid)
    assert made.of("", "step") == [(BEGUN + 150.0, 2.0)]


def test_a_hole_is_not_bridged() -> None:
    assert with_holes([(0.0, 1.0), (1.0, 1.0), (2.0, 1.0), (9.0, 1.0)], 1.0)[3] == (3.0, None)


def test_speed_comes_from_steps_where_no_samples_are_told_and_a_restart_is_no_speed() -> None:
    speed = steps_a_second([(0.0, 0.0), (1.0, 20.0), (2.0, 10.0), (3.0, 30.0), (9.0, 90.0)], 2.0)
    assert speed == [(1.0, 20.0), (2.0, None), (3.0, 20.0), (9.0, 10.0)]
    assert steps_a_second([(0.0, 1.0), (0.0, 2.0), (1.0, 3.0)], 2.0) == [(1.0, 2.0)]
    [row] = chart_rows(course(columns("", [0.0, 1.0], step=[0.0, 5.0])), None, [], MINUTE)
    assert row.title == "steps/s"


def test_charts_stand_one_above_the_other_on_one_time_axis() -> None:
    made = course(
        columns("", [0.0, 1.0], samples_per_second=[60.0, 64.0], workers=[1.0, 2.0], step=[1.0, 2.0]),
        columns("values", [0.0, 1.0], accuracy=[0.1, 0.2], loss=[2.0, 1.0]),
        columns("node:a", [1.0], samples_per_second=[32.0]),
        columns("node:b", [1.0], samples_per_second=[32.0]),
    )
    assert reported(made) == ["loss", "accuracy"]
    rows = chart_rows(made, None, reported(made), MINUTE)
    happened = marks([an_event("rescale", before="1", after="2", at="2026-11-16T09:00:01.000Z")])

    options = stacked(rows, happened, MINUTE)

    assert [row.title for row in rows] == ["loss", "accuracy", "samples/s", "workers"]
    assert list(rows[2].lines) == ["job", "a", "b"]
    assert len(options["grid"]) == len(options["xAxis"]) == len(options["yAxis"]) == 5
    assert {axis["min"] for axis in options["xAxis"]} == {BEGUN * 1000}
    assert options["dataZoom"][0]["xAxisIndex"] == [0, 1, 2, 3, 4]
    assert options["axisPointer"]["link"] == [{"xAxisIndex": "all"}]
    loss = next(line for line in options["series"] if line["name"] == "loss")
    assert loss["data"] == [[BEGUN * 1000, 2.0], [(BEGUN + 1) * 1000, 1.0]]
    assert loss["markLine"]["data"][0]["xAxis"] == (BEGUN + 1) * 1000
    assert options["series"][0]["data"][0]["name"] == "went from 1 to 2 workers"
    names = [line["name"] for line in options["series"]]
    assert len(names) == len(set(names)), "each can be hidden by itself"
    assert height(rows) > height(rows[:1])


def test_sizes_last_until_they_change_and_are_whole() -> None:
    assert lasting([(0.0, 1.0)], 9.0) == [(0.0, 1.0), (9.0, 1.0)]
    [*_, workers] = chart_rows(course(columns("", [0.0, 1.0], workers=[3.0, 1.5])), None, [], MINUTE)
    assert [value for _, value in workers.lines["workers"]] == [3.0, 2.0, 2.0]


def test_the_use_of_a_gpu_is_shown_where_the_job_was_on_it() -> None:
    attempts = [an_attempt(slot=1, ended_at="2026-11-16T09:00:05.000Z", exit_code=0)]
    gpus = held(attempts, {"a": a_gpu_node("a", 2)}, BEGUN + 60.0)
    found = {"a": course(columns("gpu:1", [1.0, 30.0], name="a", kind="node", utilisation=[90.0, 50.0]))}

    row = gpu_use(found, gpus)

    assert [(gpu.node, gpu.part) for gpu in gpus] == [("a", "gpu:1")]
    assert row is not None
    assert row.lines == {"a gpu:1": [(BEGUN + 1.0, 90.0), (BEGUN + 30.0, None)]}


def test_many_gpus_are_one_line_and_shares_of_processors_none() -> None:
    attempts = [an_attempt(f"1.worker.{slot}", slot=slot) for slot in range(16)]
    gpus = held(attempts, {"a": a_gpu_node("a", 16)}, BEGUN + 60.0)
    items = [columns(f"gpu:{at}", [1.0], name="a", kind="node", utilisation=[float(at)]) for at in range(16)]
    row = gpu_use({"a": course(*items)}, gpus)
    assert row is not None
    assert row.lines == {"mean of 16": [(BEGUN + 1.0, 7.5)]}

    assert gpu_use({}, held(attempts, {}, BEGUN)) is None
    use = cpu_use({"a": course(columns("", [1.0], name="a", kind="node", cpu=[40.0]))})
    assert use is not None
    assert use.most == 100.0


def test_step_times_are_a_line_for_each_worker() -> None:
    made = course(
        columns("worker:1.worker.0", [0.0, 1.0], seconds=[0.5, 0.4]),
        columns("worker:1.worker.1", [0.0], seconds=[0.6]),
    )
    assert {name: line[-1][1] for name, line in step_times(made).items()} == {
        "1.0": 0.4,
        "1.1": 0.6,
    }
