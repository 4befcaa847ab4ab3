"""What every process of a job is told when it starts."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.engines.builders import a_node, a_placed_job, nodes_by_name

from tenuto.engines.launch import Defaults, launch, member_ids
from tenuto.model.job import Checkpoint, Job, Limits, Member, Role
from tenuto.model.members import slots_of
from tenuto.wire.worker import WorkerId, WorkerOrder

TWO_NODES = nodes_by_name(a_node("zeta", 1, gpus=True), a_node("alfa", 2, gpus=True))
KEPT = Defaults(checkpoints="/dom/checkpoints")


def by_id(orders: tuple[WorkerOrder, ...]) -> dict[str, WorkerOrder]:
    return {f"{order.id.role}.{order.id.rank}": order for order in orders}


def of_all(orders: tuple[WorkerOrder, ...], name: str) -> list[str]:
    return [order.env[name] for order in orders]


def test_ranks_follow_the_nodes_in_the_order_of_joining_and_then_their_slots() -> None:
    job = a_placed_job({"alfa": (3, 0), "zeta": (2,)})

    orders = launch(job, TWO_NODES)

    assert [(order.node, order.slot) for order in orders] == [("zeta", 2), ("alfa", 0), ("alfa", 3)]
    assert [order.id for order in orders] == [WorkerId("j-1", 1, "worker", rank) for rank in range(3)]
    assert of_all(orders, "RANK") == ["0", "1", "2"]
    assert of_all(orders, "LOCAL_RANK") == ["0", "0", "1"]
    assert of_all(orders, "GROUP_RANK") == ["0", "1", "1"]
    assert of_all(orders, "WORLD_SIZE") == ["3", "3", "3"]
    assert of_all(orders, "LOCAL_WORLD_SIZE") == ["1", "2", "2"]


def test_all_workers_meet_at_the_node_of_rank_zero() -> None:
    orders = launch(a_placed_job({"alfa": (0,), "zeta": (0,)}), TWO_NODES)

    assert of_all(orders, "MASTER_ADDR") == ["10.0.0.1", "10.0.0.1"]
    assert of_all(orders, "MASTER_PORT") == ["29500", "29500"]
    assert of_all(orders, "TENUTO_PEERS") == ["10.0.0.1:1,10.0.0.2:1"] * 2


def test_a_worker_sees_the_device_of_its_slot_and_no_other() -> None:
    orders = launch(a_placed_job({"zeta": (1, 3)}), TWO_NODES)

    assert of_all(orders, "CUDA_VISIBLE_DEVICES") == ["1", "3"]


def test_the_settings_give_variables_to_every_process_of_every_job() -> None:
    settings = Defaults(env={"NCCL_P2P_DISABLE": "1", "QT_QPA_PLATFORM": "offscreen"})
    command = a_placed_job({"zeta": (0, 1)}, roles={"ps": Role()})

    orders = (*launch(command, TWO_NODES, defaults=settings), *launch(a_crew(), TWO_NODES, defaults=settings))

    assert of_all(orders, "NCCL_P2P_DISABLE") == ["1"] * 5
    assert of_all(orders, "QT_QPA_PLATFORM") == ["offscreen"] * 5
    assert of_all(orders, "PYTHONUNBUFFERED") == ["1"] * 5


def test_a_job_wins_over_the_settings_and_tenuto_over_both_where_it_must() -> None:
    settings = Defaults(env={"PYTHONUNBUFFERED": "0", "화면": "none", "RANK": "7"})
    job = a_placed_job({"zeta": (0,)}, env={"화면": "offscreen", "RANK": "8"})

    (order,) = launch(job, TWO_NODES, defaults=settings)

    assert (order.env["PYTHONUNBUFFERED"], order.env["화면"], order.env["RANK"]) == ("0", "offscreen", "0")


def test_a_job_without_gpus_takes_no_slot_and_sees_no_device() -> None:
    job = replace(
        a_placed_job({}, cpu_only=True, env={"CUDA_VISIBLE_DEVICES": "0"}), seats={"alfa": (0,), "zeta": (1,)}
    )

    orders = launch(job, TWO_NODES)

    assert [(order.node, order.slot) for order in orders] == [("zeta", None), ("alfa", None)]
    assert of_all(orders, "CUDA_VISIBLE_DEVICES") == ["", ""]
    assert of_all(orders, "TENUTO_SLOT") == ["", ""]
    assert of_all(orders, "RANK") == ["0", "1"]


def test_a_guest_sees_the_device_that_it_shares() -> None:
    (order,) = launch(replace(a_placed_job({}, share=True), seats={"zeta": (3,)}), TWO_NODES)

    assert (order.slot, order.env["CUDA_VISIBLE_DEVICES"], order.shares) == (3, "3", True)


def test_a_worker_on_a_cpu_slot_sees_no_device() -> None:
    orders = launch(a_placed_job({"cpu": (1,)}), nodes_by_name(a_node("cpu", 1)))

    assert of_all(orders, "CUDA_VISIBLE_DEVICES") == [""]


def test_a_job_is_told_who_it_is_and_what_it_was_given() -> None:
    job = a_placed_job(
        {"zeta": (0,)},
        generation=7,
        name="모델 żółw 模型",
        params={"lr": 0.1, "이름": "模型"},
        checkpoint=Checkpoint(dir="/data/ckpt"),
        steps=2_000_000.0,
        global_batch=256,
    )

    (order,) = launch(job, TWO_NODES)

    assert order.env["TENUTO_JOB_ID"] == "j-1"
    assert order.env["TENUTO_JOB_NAME"] == "모델 żółw 模型"
    assert order.env["TENUTO_GENERATION"] == "7"
    assert order.env["TENUTO_ROLE"] == "worker"
    assert order.env["TENUTO_WORKERS"] == "1"
    assert json.loads(order.env["TENUTO_PARAMS"]) == {"lr": 0.1, "이름": "模型"}
    assert order.env["TENUTO_CHECKPOINT_DIR"] == "/data/ckpt"
    assert order.env["TENUTO_STEPS"] == "2000000"
    assert order.env["TENUTO_GLOBAL_BATCH"] == "256"
    assert order.env["PYTHONUNBUFFERED"] == "1"


def test_what_was_not_given_is_not_set() -> None:
    (order,) = launch(a_placed_job({"zeta": (0,)}), TWO_NODES)

    assert not {"TENUTO_STEPS", "TENUTO_GLOBAL_BATCH", "TENUTO_CHECKPOINT_DIR"} & set(order.env)


def test_a_users_variables_win_except_for_rank_and_meeting_point() -> None:
    theirs = {"CUDA_VISIBLE_DEVICES": "7", "PYTHONUNBUFFERED": "", "RANK": "9", "MASTER_ADDR": "elsewhere"}
    job = a_placed_job({"zeta": (0,)}, env=theirs | {"TENUTO_JOB_ID": "another", "DATA": "/zbiór"})

    (order,) = launch(job, TWO_NODES)

    assert order.env["CUDA_VISIBLE_DEVICES"] == "7"
    assert order.env["PYTHONUNBUFFERED"] == ""
    assert order.env["DATA"] == "/zbiór"
    assert order.env["RANK"] == "0"
    assert order.env["MASTER_ADDR"] == "10.0.0.1"
    assert order.env["TENUTO_JOB_ID"] == "j-1"


@pytest.mark.parametrize(
    ("environment", "first"),
    [
        ("", ""),
        ("/opt/venv", "/opt/venv/bin"),
        ("/opt/python3.11", "/opt/python3.11/bin"),
        ("/opt/venv/bin/python3", "/opt/venv/bin"),
        ("/opt/venv/bin", "/opt/venv/bin"),
        ("/home/김/환경/", "/home/김/환경/bin"),
    ],
)
def test_the_programs_of_the_jobs_environment_come_first(environment: str, first: str) -> None:
    (order,) = launch(a_placed_job({"zeta": (0,)}, environment=environment), TWO_NODES)

    assert (order.path_first, order.environment) == (first, environment)


def test_command_directory_setup_limits_and_grace_are_handed_on() -> None:
    job = a_placed_job(
        {"zeta": (0,)},
        workdir="/work dir",
        setup="pip install .",
        limits=Limits(memory=1 << 30, cpus=1.5, files=512),
        grace=5.0,
    )

    (order,) = launch(job, TWO_NODES)

    assert (order.argv, order.cwd, order.setup) == (("python", "train.py"), "/work dir", "pip install .")
    assert (order.memory, order.cpus, order.files, order.grace) == (1 << 30, 1.5, 512, 5.0)


def test_processes_of_further_roles_stand_on_the_node_of_rank_zero_and_take_no_slot() -> None:
    roles = {"ps": Role(count=2, run=("python", "ps.py"), limits=Limits(memory=9)), "eval": Role()}
    job = a_placed_job({"zeta": (1,), "alfa": (0,)}, roles=roles)

    orders = by_id(launch(job, TWO_NODES))

    assert sorted(orders) == ["eval.0", "ps.0", "ps.1", "worker.0", "worker.1"]
    second = orders["ps.1"]
    assert (second.node, second.slot, second.argv, second.memory) == ("zeta", None, ("python", "ps.py"), 9)
    assert (second.env["RANK"], second.env["WORLD_SIZE"], second.env["TENUTO_ROLE"]) == ("1", "2", "ps")
    assert second.env["CUDA_VISIBLE_DEVICES"] == ""
    assert second.env["TENUTO_WORKERS"] == "2"
    assert orders["eval.0"].argv == ("python", "train.py")


def test_every_process_knows_where_those_of_all_roles_stand() -> None:
    job = a_placed_job({"zeta": (1,), "alfa": (0,)}, roles={"ps": Role(count=2)})

    told = {order.env["TENUTO_ROLES"] for order in launch(job, TWO_NODES)}

    assert [json.loads(text) for text in told] == [
        {"ps": ["10.0.0.1", "10.0.0.1"], "worker": ["10.0.0.1", "10.0.0.2"]}
    ]


def test_an_ordered_start_adds_one_worker_at_a_time() -> None:
    job = a_placed_job({"zeta": (0, 1, 2)}, roles={"ps": Role()})

    assert [sorted(by_id(launch(job, TWO_NODES, ready=ready))) for ready in (0, 1, 2, 3)] == [
        ["ps.0", "worker.0"],
        ["ps.0", "worker.0", "worker.1"],
        ["ps.0", "worker.0", "worker.1", "worker.2"],
        ["ps.0", "worker.0", "worker.1", "worker.2"],
    ]


def test_a_job_without_slots_has_no_process() -> None:
    assert launch(a_placed_job({}, roles={"ps": Role()}), TWO_NODES) == ()
    assert launch(a_placed_job({"zeta": ()}), TWO_NODES) == ()


def test_an_address_with_colons_is_told_in_brackets() -> None:
    (order,) = launch(a_placed_job({"a": (0,)}), nodes_by_name(a_node("a", 1, address="fd00::7")))

    assert order.env["TENUTO_PEERS"] == "[fd00::7]:1"
    assert order.env["MASTER_ADDR"] == "fd00::7"


def test_a_worker_is_told_its_node_and_slot() -> None:
    job = a_placed_job({"zeta": (3,)}, roles={"ps": Role()})

    told = {
        order.id.role: (order.env["TENUTO_NODE"], order.env["TENUTO_SLOT"])
        for order in launch(job, TWO_NODES)
    }

    assert told == {"worker": ("zeta", "3"), "ps": ("zeta", "")}


# jobs that rescale in place

CREW = (
    Member(born=3, rank=1, node="alfa", slot=2),
    Member(born=5, rank=0, node="zeta", slot=0),
)


def a_crew(members: tuple[Member, ...] = CREW, **spec: Any) -> Job:
    job = a_placed_job(slots_of(members), generation=6, strategy="allreduce", **spec)
    return replace(job, members=members, port=None)


def test_members_keep_the_names_of_their_birth_and_are_ordered_by_rank() -> None:
    orders = launch(a_crew(), TWO_NODES)

    assert [str(order.id) for order in orders] == ["j-1.3.worker.1", "j-1.5.worker.0"]
    assert [(order.node, order.slot) for order in orders] == [("alfa", 2), ("zeta", 0)]
    assert of_all(orders, "TENUTO_GENERATION") == ["3", "5"]
    assert all(order.linked for order in orders)
    assert member_ids(a_crew()) == tuple(order.id for order in orders)


def test_an_order_stays_the_same_whoever_comes_or_goes() -> None:
    (before, _) = launch(a_crew(), TWO_NODES)
    others = (
        CREW[0],
        Member(born=7, rank=1, node="alfa", slot=0),
        Member(born=7, rank=2, node="alfa", slot=1),
    )

    (after, *_) = launch(replace(a_crew(others), generation=7), TWO_NODES)

    assert after == before


def test_a_member_is_told_nothing_that_a_rescale_would_make_untrue() -> None:
    orders = launch(a_crew(), TWO_NODES)

    for order in orders:
        assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TENUTO_WORKERS"} & set(order.env)
        assert order.env["TENUTO_ROLE"] == "worker"
    assert of_all(orders, "CUDA_VISIBLE_DEVICES") == ["2", "0"]
    assert of_all(orders, "TENUTO_HOST") == [TWO_NODES[order.node].address for order in orders]


def test_a_member_keeps_checkpoints_where_the_job_says_or_else_where_the_platform_does() -> None:
    named = a_crew(checkpoint=Checkpoint(dir="/data/ckpt", every=50))
    by_default = a_crew(checkpoint=Checkpoint(every=50))

    for job, where in (
        (named, "/data/ckpt"),
        (by_default, "/dom/checkpoints/j-1"),
        (a_crew(), "/dom/checkpoints/j-1"),
    ):
        orders = launch(job, TWO_NODES, defaults=KEPT)
        assert of_all(orders, "TENUTO_CHECKPOINT_DIR") == [where] * 2
    assert of_all(launch(named, TWO_NODES), "TENUTO_CHECKPOINT_EVERY") == ["50"] * 2
    (command,) = launch(a_placed_job({"zeta": (0,)}), TWO_NODES, defaults=KEPT)
    assert "TENUTO_CHECKPOINT_DIR" not in command.env


def test_members_that_start_in_order_are_added_by_rank() -> None:
    assert [len(launch(a_crew(), TWO_NODES, ready=ready)) for ready in (0, 1, 2)] == [1, 2, 2]
