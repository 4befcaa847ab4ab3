"""What a terminal of a size shows of what a server told."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from tests.cli.top.told import NOW, Json, a_gpu, a_job, a_node, an_overview, moment

from tenuto.cli.node_view import node_lines
from tenuto.cli.top.header import Heading
from tenuto.cli.top.layout import Frame, Size, frame_of, query_of, whole
from tenuto.cli.top.model import Seen, State, Target, View

HEADING = Heading("http://gpu-box:8080", NOW)
TWO_NODES = [a_node("węzeł-1"), a_node("biuro", state="offline", usage=None, used=0, jobs=0)]


def framed(state: State, seen: Seen, width: int = 80, height: int = 24) -> Frame:
    return frame_of(state, seen, Size(width, height), HEADING)


def lines(frame: Frame) -> list[str]:
    return [line.plain.rstrip() for line in frame.lines]


def small() -> Seen:
    jobs = [a_job(), a_job("k2", name="czeka", state="queued", workers=0, gpu=None, eta=None)]
    return Seen(overview=an_overview(TWO_NODES, [a_gpu(0), a_gpu(1, lost=True, jobs=[])], jobs))


def test_a_terminal_of_80_by_24_shows_everything() -> None:
    assert lines(framed(State(), small())) == [
        "tenuto http://gpu-box:8080  policy elasticflow  controller deciding  14:03:22",
        "slots █████      4/8  nodes 2 online, 1 offline  jobs 1 running, 2 queued",
        "promises 3 open  1 at risk  12 kept  0 broken  (the last two within a day)",
        "node            state      slots CPU             RAM             GPU",
        "węzeł-1         online       1/2 ████▎       42% ███████▌    75% ███████▌    75%",
        "biuro           offline      0/2 -                             -               -",
        "node▼          # use             memory              power  temp job",
        "node-0         0 ███████▌    75% ██▌         25%  250/400W  61°C 훈련",
        "node-0         1 lost            ██▌         25%  250/400W  61°C -",
        "job          state▼         workers done          samples/s         ETA promise",
        "훈련         running          2/1-4 ████      50%     1,234      12 min holds",
        "czeka        queued           -/1-4 ████      50%     1,234           - holds",
        *[""] * 11,
        "q quit  ? help  Enter details  / filter  s sort: state  o all  n nodes  g GPUs",
    ]


@pytest.mark.parametrize(("width", "height"), [(20, 6), (40, 10), (80, 24), (81, 50), (200, 60)])
@pytest.mark.parametrize("view", list(View))
def test_no_line_is_wider_and_no_screen_higher_than_the_terminal(view: View, width: int, height: int) -> None:
    names = [
        "한국어로 된 아주 긴 이름입니다",
        "中文名字很长很长很长",
        "zażółć-gęślą-jaźń" * 5,
        "🚀🚀 \x1b[31mred\x07\t!",
    ]
    seen = Seen(
        overview=an_overview(
            [a_node(name) for name in names],
            [a_gpu(i, name=name, node=name) for i, name in enumerate(names)],
            [a_job(str(i), name=name, owner=name) for i, name in enumerate(names)],
        )
    )

    frame = framed(State(view=view, text=names[0]), seen, width, height)

    assert len(frame.lines) == height
    assert max(cell_len(line.plain) for line in frame.lines) <= width
    assert not any(character in line.plain for line in frame.lines for character in "\x1b\x07\t\n")


def test_room_that_jobs_leave_goes_to_gpus_and_nodes() -> None:
    gpus = [a_gpu(index) for index in range(9)]
    seen = Seen(overview=an_overview([a_node(f"węzeł-{index}") for index in range(6)], gpus, [a_job()]))

    shown = lines(framed(State(), seen))

    assert query_of(State(), Size(80, 24))["gpus"] == 24
    assert sum(line.startswith("węzeł") for line in shown) == 6
    assert sum(line.startswith("node-0") for line in shown) == 9


def test_a_wide_terminal_shows_the_whole_names_of_gpus_and_their_jobs() -> None:
    name, job = "NVIDIA H100 80GB HBM3", "sprachmodell-für-lange-sätze"
    seen = Seen(overview=an_overview([], [a_gpu(name=name, jobs=[{"id": "k1", "name": job}])], []))

    assert f"{job}" in (line := lines(framed(State(view=View.GPUS), seen, width=160))[4]) and name in line


def test_a_job_that_tells_nothing_has_no_speed_and_an_idle_one_says_for_how_long() -> None:
    silent = a_job(samples_per_second=None, speed=1.0, done=None, state="unschedulable")
    idle = a_job("k2", idle_since=moment(minutes=-4, seconds=-5))
    shown = lines(framed(State(view=View.JOBS), Seen(overview=an_overview([], [], [silent, idle]))))

    assert shown[4].split()[1:6] == ["unschedulable", "2/1-4", "-", "-", "12"]
    assert "idle 4 min " in shown[5]


def test_only_what_is_on_the_screen_is_asked_for() -> None:
    state = State(
        view=View.GPUS, at=5000, first=4990, orders={"nodes": "cpu", "gpus": "-power", "jobs": "eta"}
    )

    query = query_of(state, Size(80, 24))

    assert (query["nodes"], query["jobs"]) == (0, 0)
    assert (query["gpus"], query["gpus_from"], query["gpus_by"]) == (72, 4966, "-power")


def test_a_long_list_is_shown_from_where_it_was_scrolled_to() -> None:
    jobs = [a_job(f"k{number}", name=f"job-{number}") for number in range(76, 148)]
    seen = Seen(overview=an_overview([], [], jobs, total_jobs=10_000), query={"jobs_from": 76})
    state = State(view=View.JOBS, at=103, first=100)

    frame = framed(state, seen)

    assert [line.split()[0] for line in lines(frame)[4:7]] == ["job-100", "job-101", "job-102"]
    assert frame.lines[7].plain.startswith("job-103") and "reverse" in str(frame.lines[7].spans)
    assert frame.around.selected == Target("job", "k103")
    assert (frame.around.rows, frame.around.page) == (10_000, 19)


def test_a_server_that_is_away_is_told_above_what_was_seen_last() -> None:
    seen = Seen(overview=small().overview, problem="The server does not answer; trying again.")

    shown = lines(framed(State(), seen))

    assert shown[3].strip() == "The server does not answer; trying again."
    assert any("훈련" in line for line in shown)


def test_what_is_not_known_says_so() -> None:
    quiet = a_gpu(0, utilisation=None, memory_used=None, memory_total=None, power=None, temperature=None)
    idle = a_job(idle_since=moment(minutes=-20), samples_per_second=None)
    seen = Seen(overview=an_overview([a_node("nowy", usage=None)], [quiet], [idle]))

    shown = "\n".join(lines(framed(State(), seen)))

    assert "No data" in shown.splitlines()[4] and "No data" in shown.splitlines()[6]
    assert "idle 20 min" in shown and "20 st/s" in shown
    nothing = lines(framed(State(text="xyz"), Seen(overview=an_overview([], [], []))))
    assert nothing.count("Nothing has 'xyz' in it.") == 2


def test_one_picture_for_a_file_has_all_that_was_told() -> None:
    jobs = [a_job(f"k{number}", name=f"job-{number}") for number in range(100)]
    seen = Seen(overview=an_overview([a_node()], [], jobs, total_jobs=10_000))

    shown = [line.plain for line in whole(State(), seen, 140, HEADING)]

    assert sum(line.startswith("job-") for line in shown) == 100
    assert shown[-1] == "… and 9900 more"


def a_job_in_full() -> Json:
    """As the server tells of a job that is looked into."""
    member = {
        "rank": 0,
        "worker": "k1.1.worker.0",
        "node": "węzeł-1",
        "slot": 3,
        "stage": "training",
        "generation": 1,
    }
    event = {
        "kind": "scaled",
        "at": moment(minutes=-1),
        "before": "1",
        "after": "2",
        "reason": "chosen by the policy",
    }
    progress = {"total": 100.0, "done": 25.0, "speed": 2.0, "unit": "steps"}
    job = {
        **a_job(message="", slots={"węzeł-1": [3]}, seats={}, members=[member], progress=progress),
        "eta": {"finish": moment(minutes=12)},
        "contract": {"promised": moment(hours=1)},
        "promise": {"state": "at_risk"},
    }
    numbers = [
        {"part": "", "values": {"samples_per_second": [1.0, 2.0, 3.0]}},
        {"part": "values", "values": {"strata": [0.9, None, 0.1]}},
    ]
    output = {"role": "worker", "rank": 0, "text": "10%\r50%\r100% \x1b[32mdone\x1b[0m\n"}
    return {
        "job": job,
        "numbers": numbers,
        "gpus": [[80.0], [10.0, 20.0]],
        "events": [event],
        "logs": [output],
    }


def test_a_job_in_full_tells_progress_courses_output_events_and_workers() -> None:
    target = Target("job", "k1")
    seen = Seen(overview=small().overview, target=target, details=a_job_in_full())

    shown = [line for line in lines(framed(State(target=target), seen, height=40)) if line]

    assert shown[3:12] == [
        "job       훈련 (k1)  of 민준",
        "state     running",
        "workers   2 of 1..4  węzeł-1:1",
        "done      █████                25%  25 of 100 steps  2 steps/s",
        *shown[7:9],
        "samples/s           3 ▁▅█",
        "strata            0.1 █ ▁",
        "GPU %              50 ▁█",
    ]
    assert "promise at risk" in shown[8]
    assert shown[12:14] == ["output of worker/0", "100% done"]
    assert shown[15].endswith("scaled  1 → 2  chosen by the policy")
    assert shown[17].split() == ["0", "węzeł-1", "3", "training"]
    other = Seen(overview=small().overview, target=Target("job", "k2"), details=a_job_in_full())
    assert "Looking at job k1 …" in lines(framed(State(target=target), other))


def a_sample() -> Json:
    process = {
        "pid": 4711,
        "name": "python",
        "user": "kim",
        "memory": 3 << 30,
        "job": "k1",
        "worker": "k1.1.worker.0",
    }
    gpu = {key: value for key, value in a_gpu().items() if key not in ("node", "state", "jobs")}
    return {
        "at": NOW.timestamp(),
        "cpu": 50.0,
        "cores": [100.0, 0.0, None],
        "load": 1.5,
        "ram_used": 1 << 30,
        "ram_total": 4 << 30,
        "swap_used": 0,
        "swap_total": 0,
        "disks": [{"path": "/", "used": 9, "total": 10, "read": None, "written": 2048.0}],
        "nets": [{"id": "eth0", "bandwidth": 1e9, "received": 5000.0, "sent": None}],
        "gpus": [{**gpu, "processes": [process]}],
        "gpu_problem": None,
        "driver": "580.95",
    }


def test_a_node_in_full_tells_cores_disks_nets_gpus_and_whose_processes() -> None:
    node = {**a_node(), "jobs": ["k1"], "address": "10.0.0.1", "labels": {"room": "dół"}}

    shown = "\n".join(line.plain for line in node_lines(node, {"age": 1.0, "sample": a_sample()}, 80))

    for part in (
        "room=dół",
        "█▁·",
        "90%",
        "written 2.0K/s",
        "eth0  down 4.9K/s",
        "580.95",
        "of 400 W",
        "4711",
        "job k1",
    ):
        assert part in shown
    offline = node_lines({**node, "state": "offline"}, None, 80)
    assert offline[-1].plain.split() == ["usage", "-"]
