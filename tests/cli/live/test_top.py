"""`tenuto top` and the node commands against a real server; the live view in a real pseudo-terminal."""

from __future__ import annotations

import json
import re
import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.cli.live.pseudo_terminal import in_a_terminal
from tests.cli.live.site import TOKEN, Served, Site, a_store, as_json, ok, served, tenuto

from tenuto.cli.top.model import Target
from tenuto.cli.top.watch import Wish, look
from tenuto.client.plain import PlainClient
from tenuto.model.job import Progress
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import Phase
from tenuto.store.base import StoreUnavailable
from tenuto.wire.sample import GpuProcess, GpuSample, NetSample, NodeSample

GIB = 1 << 30
QUICK = ("--interval", "0.2")
SGR = re.compile(rb"\x1b\[([0-9;]*)m")
"""What changes how characters look."""


def watch(server: Served, node: str, *gpus: GpuSample) -> None:
    """A node's sampler tells something."""
    nets = (NetSample(id="eth0", received=2048.0, sent=512.0), NetSample(id="wlan0"))
    sample = NodeSample(
        at=time.time(),
        cpu=37.0,
        cores=(30.0, 44.0),
        ram_used=3 * GIB,
        ram_total=8 * GIB,
        nets=nets,
        gpus=gpus,
        driver="580.95",
    )
    server.app.state.platform.files.latest.take(node, [sample])


def a_gpu(index: int, **fields: object) -> GpuSample:
    known = {"utilisation": 80.0, "memory_used": 10 * GIB, "memory_total": 40 * GIB, "power": 250.0}
    return GpuSample(index=index, uuid=f"GPU-{index}", name="A100", **{**known, **fields})  # type: ignore[arg-type]


def a_gpu_node(site: Site, name: str, gpus: int = 2, state: NodeState = NodeState.ONLINE) -> None:
    slots = tuple(Slot(device=str(index), kind="A100") for index in range(gpus))
    site.store.write(lambda tx: tx.put_node(Node(name=name, number=0, revision=0, state=state, slots=slots)))


def a_running_job(site: Site, key: str = "k1", name: str = "훈련", node: str = "węzeł-1") -> None:
    progress = Progress(left=50.0, as_of=time.time(), speed=1.0)
    spec = {"steps": 100.0}
    site.add_job(
        key, name, phase=Phase.RUNNING, slots={node: (0,)}, spec=spec, progress=progress, generation=1
    )


def test_the_node_table_tells_use_and_what_is_held(site: Site, one_server: Served) -> None:
    a_gpu_node(site, "węzeł-1")
    a_gpu_node(site, "nowy")
    a_gpu_node(site, "zgubiony", state=NodeState.OFFLINE)
    a_running_job(site)
    for name in ("węzeł-1", "zgubiony"):
        watch(one_server, name, a_gpu(0), a_gpu(1, utilisation=20.0, memory_used=None))

    rows = {line.split()[0]: line.split()[1:] for line in ok("node", "ls").splitlines()[1:]}

    assert rows["węzeł-1"][:9] == ["ONLINE", "37%", "0/1", "5.0G", "2.0K", "512B", "50%", "1/2", "30G"]
    assert rows["nowy"][:3] == ["ONLINE", "No", "data"]
    assert rows["zgubiony"][:2] == ["OFFLINE", "-"]
    usages = {node["name"]: node["usage"] for node in as_json("node", "ls")["items"]}
    assert usages["nowy"] is None and usages["zgubiony"] is None
    assert usages["węzeł-1"]["vram_total"] == 40 * GIB


def test_the_node_table_tells_of_a_gpu_that_is_lost(site: Site, one_server: Served) -> None:
    a_gpu_node(site, "węzeł-1")
    watch(one_server, "węzeł-1", a_gpu(0), GpuSample(index=1, uuid="GPU-1", name="A100", lost=True))

    assert "80%, 1 lost" in ok("node", "ls")


def test_a_node_is_shown_in_full_and_as_gpustat_does(site: Site, one_server: Served) -> None:
    a_gpu_node(site, "węzeł-1")
    worker = GpuProcess(pid=4711, name="python", user="kim", memory=3 * GIB, job="k1")
    watch(one_server, "węzeł-1", a_gpu(0, processes=(worker,)), a_gpu(1, processes=()))

    shown = ok("node", "show", "węzeł-1")
    stat = ok("node", "gpustat", "węzeł-1", "-c", "-p")

    assert "4711" in shown and "job k1" in shown and "eth0" in shown
    assert stat.splitlines()[1].endswith("80 % | 10240 / 40960 MB | python/4711(3072M)")
    told = json.loads(ok("node", "gpustat", "węzeł-1", "--json"))
    assert (told["hostname"], told["driver_version"], len(told["gpus"])) == ("węzeł-1", "580.95", 2)
    assert tenuto("node", "gpustat", "węzeł-1", "--json", "-i", "1").exit_code == 2


def test_a_node_that_was_never_sampled_says_why(site: Site) -> None:
    a_gpu_node(site, "nowy")

    assert "No data" in ok("node", "show", "nowy")
    refused = tenuto("node", "gpustat", "nowy")
    assert refused.exit_code == 4 and "Nothing was sampled lately" in refused.stderr
    assert tenuto("node", "gpustat", "nikt").exit_code == 4


def test_one_picture_is_printed_where_there_is_no_terminal(
    site: Site, one_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    a_gpu_node(site, "węzeł-1")
    a_running_job(site)
    watch(one_server, "węzeł-1", a_gpu(0))

    shown = ok("top")

    assert "1 running" in shown and "A100" in shown and "훈련" in shown
    assert "\x1b" not in shown
    assert "훈련" not in ok("top", "--view", "nodes") and "훈련" not in ok("top", "--filter", "xyz")
    told = as_json("top", "--sort", "-name")
    assert [job["name"] for job in told["jobs"]] == ["훈련"] and told["of"] == {
        "nodes": 1,
        "gpus": 1,
        "jobs": 1,
    }


def test_a_job_is_shown_without_its_past_if_the_history_does_not_answer(
    site: Site, one_server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> None:
        raise StoreUnavailable("the history is damaged", remedy="Move it away")

    site.add_job("k1", "训练", phase=Phase.RUNNING)
    monkeypatch.setattr(one_server.app.state.platform.files.series, "read", away)

    with PlainClient(site.url, TOKEN) as client:
        seen = look(client, Wish({}, Target("job", "k1")))

    assert seen.details is not None
    assert (seen.details["job"]["name"], seen.details["numbers"]) == ("训练", [])


def test_columns_and_views_that_are_not_there_are_refused(site: Site) -> None:
    assert "Did you mean" in tenuto("top", "--sort", "nmae").stderr
    assert tenuto("top", "--view", "cores").exit_code == 2
    assert tenuto("top", "--view", "nodes", "--sort", "eta").exit_code == 2


def test_somebody_watches_filters_looks_into_a_job_and_leaves(site: Site, one_server: Served) -> None:
    a_gpu_node(site, "węzeł-1")
    with in_a_terminal("top", *QUICK) as terminal:
        terminal.sees("No job waits or runs.")

        a_running_job(site)  # a job comes
        site.add_job("k2", "czekające")
        site.add_attempt("k1")
        site.prints("k1", "epoch 3 \x1b[31mloss\x1b[0m 0.25\n")
        watch(one_server, "węzeł-1", a_gpu(0))
        assert "훈련" in terminal.sees("running   ")
        terminal.sees("80%")
        terminal.sees("czekające")

        terminal.press("/훈")
        terminal.sees("czekające", gone=True)
        terminal.press("\r")

        terminal.press("\r")
        terminal.sees("epoch 3 loss 0.25")
        terminal.press("\x1b")
        terminal.sees("samples/s")

        terminal.press("\x1b")  # and the filter is gone
        terminal.sees("czekające")
        terminal.press("n\r")
        terminal.sees("10G of 40G")

        terminal.press("q")
        assert terminal.ends() == 0
        assert terminal.is_as_before


@pytest.mark.parametrize("way", ["ctrl-c", "terminated"])
def test_the_terminal_is_restored_however_it_ends(site: Site, way: str) -> None:
    with in_a_terminal("top", *QUICK) as terminal:
        terminal.sees("No node has joined.")

        if way == "ctrl-c":
            terminal.press("\x03")
        else:
            terminal.process.send_signal(signal.SIGTERM)

        assert terminal.ends() == (0 if way == "ctrl-c" else 128 + signal.SIGTERM)
        assert terminal.is_as_before


def test_a_program_that_is_stopped_for_a_while_gives_the_terminal_back(site: Site) -> None:
    with in_a_terminal("top", *QUICK) as terminal:
        terminal.sees("No node has joined.")

        terminal.press("\x1a")  # Ctrl-Z
        terminal.stops()
        assert terminal.is_as_before

        terminal.process.send_signal(signal.SIGCONT)
        terminal.press("q")
        assert terminal.ends() == 0
        assert terminal.is_as_before


def test_a_long_list_is_scrolled_and_a_window_may_change_its_size(site: Site) -> None:
    for number in range(300):
        site.add_job(f"k{number:03}", f"zadanie-{number:03}")
    with in_a_terminal("top", "--view", "jobs", "--sort", "name", *QUICK, NO_COLOR="1") as terminal:
        terminal.sees("zadanie-018")
        assert "zadanie-020" not in "\n".join(terminal.lines)

        terminal.press("\x1b[F")  # End
        terminal.sees("zadanie-299")
        terminal.resize(120, 40)
        terminal.sees("zadanie-265")
        terminal.press("\x1b[H")
        terminal.sees("zadanie-000")

        terminal.press("?")
        terminal.sees("turn the order round")
        terminal.press("xq")
        assert terminal.ends() == 0
        codes = {int(code) for found in SGR.findall(terminal.sent) for code in found.split(b";") if code}
        assert codes <= {0, 1, 2, 4, 7}, "no colours were asked for"


def test_a_server_that_goes_away_and_comes_back_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_TOKEN", "a-user-token")
    store = a_store()
    with ExitStack() as stack:
        with served(store, tmp_path / "1") as server:
            port = int(server.url.rpartition(":")[2])
            monkeypatch.setenv("TENUTO_URL", server.url)
            terminal = stack.enter_context(in_a_terminal("top", *QUICK))
            terminal.sees("No node has joined.")

        terminal.sees("The server does not answer; trying again.")
        assert "No node has joined." in "\n".join(terminal.lines)
        with served(store, tmp_path / "2", port):
            terminal.sees("does not answer", gone=True)
            terminal.press("q")
            assert terminal.ends() == 0
