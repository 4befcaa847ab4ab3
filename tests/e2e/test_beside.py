"""Jobs that are not on slots of their own, and what the settings give to all workers: on a node with one slot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Json, Platform, eventually

from tenuto.client.plain import PlainClient

PRINTS = (
    'printf "%s|" "$PWD" "$NCCL_P2P_DISABLE" "$QT_QPA_PLATFORM" "$PYTHONUNBUFFERED" '
    '"${CUDA_VISIBLE_DEVICES-unset}" "$TENUTO_SLOT" && echo && command -v python'
)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Platform]:
    """One node, one slot, one place without a GPU."""
    made = Platform(tmp_path / "platform", "--nodes", "1", "--slots", "1", "--start-cost", "0.5")
    (tmp_path / "설정.yaml").write_text(
        'workers: {env: {NCCL_P2P_DISABLE: "1", QT_QPA_PLATFORM: offscreen}}\n', encoding="utf-8"
    )
    try:
        made.up("--config", str(tmp_path / "설정.yaml"))
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def printed(client: PlainClient, job: str) -> list[str]:
    def look() -> list[str] | None:
        parts = client.logs(job)["parts"]
        return parts[0]["text"].splitlines() if parts and parts[0]["ended"] else None

    return eventually(look, "everything it printed is here")


def pids(platform: Platform) -> dict[str, int]:
    return {name: process.pid for name, process in platform.workers().items()}


def test_two_jobs_share_a_slot_one_runs_without_a_gpu_and_a_new_server_disturbs_nobody(
    small: Platform, tmp_path: Path
) -> None:
    with small.client(patience=10.0) as client:
        holder, guest = (client.submit(a_job(name, FOREVER, share=True))["id"] for name in ("holder", "손님"))
        lone = client.submit(
            a_job("정리", PRINTS, gpus=0, workdir=str(tmp_path), env={"NCCL_P2P_DISABLE": "0"})
        )
        small.wait_for(holder, "running")
        assert small.wait_for(guest, "running")["guest"]
        small.wait_for(lone["id"], "succeeded")
        variables, python, *_ = printed(client, lone["id"])
        (node,) = client.nodes()["items"]
    assert variables == f"{tmp_path}|0|offscreen|1|||"
    assert Path(python).name == "python"
    assert [(slot["job"], slot["guests"]) for slot in node["slots"]] == [(holder, [guest])]
    assert "1/1" in small.cli("ps", "--wide")
    assert "(guest)" in small.cli("node", "ls")
    before = pids(small)
    assert len(before) == 2
    small.kill()
    (tmp_path / "설정.yaml").write_text("workers: {env: {KOLOR: zielony}}\n", encoding="utf-8")

    small.up("--config", str(tmp_path / "설정.yaml"))

    later = small.cli("run", "--gpus", "0", "--", "/bin/sh", "-c", 'echo "kolor: $KOLOR"')
    assert "kolor: zielony" in later
    eventually(lambda: small.decides, "the controller decides")
    assert pids(small) == before
    with small.client(patience=10.0) as client:
        client.act(holder, "cancel")
        alone = eventually(lambda: _as_holder(client, guest), "the guest holds the slot")
    eventually(lambda: len(pids(small)) == 1, "the process of the holder is gone")
    assert (alone["state"], pids(small)) == ("running", {k: v for k, v in before.items() if guest in k})


def _as_holder(client: PlainClient, job: str) -> Json | None:
    shown = client.job(job)
    return shown if shown["slots"] and not shown["guest"] else None


def test_a_gpu_takes_a_guest_while_its_memory_suffices(tmp_path: Path) -> None:
    (tmp_path / "설정.yaml").write_text("sharing: {settle: 0}\n", encoding="utf-8")
    gpu = GpuPlatform(tmp_path / "platform", "--nodes", "1", "--config", str(tmp_path / "설정.yaml"))
    gpu.use(60)
    try:
        gpu.up()
        with gpu.client(patience=10.0) as client:
            holder, guest = (
                client.submit(a_job(name, FOREVER, share=True))["id"] for name in ("holder", "손님")
            )
            gpu.wait_for(holder, "running")
            told = eventually(lambda: _waits_for_memory(client, guest), "the guest waits for memory")
            assert told.startswith("waits for slots; 60% of the memory is in use on slot 0 of node-0")

            gpu.use(40)

            assert gpu.wait_for(guest, "running")["guest"]
            assert {process.environ()["CUDA_VISIBLE_DEVICES"] for process in gpu.workers().values()} == {"0"}
            third = client.submit(a_job("third", FOREVER, share=True))["id"]
            eventually(lambda: client.job(third)["why"] == "shared_fully", "two jobs are enough")
        gpu.down()
        gpu.leaves_nothing()
    finally:
        gpu.end()


def _waits_for_memory(client: PlainClient, job: str) -> str:
    shown = client.job(job)
    return str(shown["message"]) if shown["why"] == "memory_in_use" else ""
