"""Workers that were forked from a warm server: nobody can tell them from others. Real processes, no torch."""

from __future__ import annotations

import os
import random
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.engines.supervisor.node import environment_of
from tests.engines.supervisor.warm.conftest import IS_WARM, WarmStage

from tenuto.wire import env
from tenuto.wire.worker import ExitReason, WorkerOrder, WorkerState

SAME = f"""
import sys, os, json, __main__
{IS_WARM}
from helper import double
print(json.dumps(dict(
    argv=sys.argv, path=sys.path, orig=sys.orig_argv, executable=sys.executable, flags=str(sys.flags),
    prefix=sys.prefix, name=__name__, file=__file__, spec=__spec__, cached=__cached__,
    loader=type(__loader__).__name__, doc=__doc__,
    annotations=__annotations__, package=__package__, main=__main__.__dict__ is globals(), double=double(3),
    stdin=(sys.stdin.name, sys.stdin.mode, sys.stdin.encoding, sys.stdin.errors, sys.stdin.read()),
    stdout=(sys.stdout.name, sys.stdout.mode, sys.stdout.encoding, sys.stdout.errors, sys.stdout.line_buffering),
    stderr=(sys.stderr.name, sys.stderr.mode, sys.stderr.encoding, sys.stderr.errors, sys.stderr.line_buffering),
    same=sys.stdout is sys.__stdout__, tenuto=[name for name in sys.modules if name.startswith("tenuto")],
    environment={{name: value for name, value in os.environ.items() if not name.startswith("TENUTO_")}},
    descriptors=[n for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{{n}}")],
    cwd=os.getcwd(), group=os.getpgid(0) == os.getpid(), session=os.getsid(0) == os.getppid(),
    cores=len(os.sched_getaffinity(0)),
)), flush=True)
"""


def test_a_warm_worker_sees_the_same_world_as_a_cold_one(stage: WarmStage) -> None:
    (stage.directory / "helper.py").write_text("def double(x): return 2 * x\n", encoding="utf-8")
    order = stage.script(SAME, "--batch", "학습 2", env={"ŻÓŁW": "żółw"}, cpus=1, files=77)

    printed = stage.like_a_cold_one(order)

    assert '"double": 6' in printed


LATE = """
import threading, time
def late():
    threading.main_thread().join()
    print('late')
threading.Thread(target=late).start()
print('main')
"""


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('żegnaj')", 1),
        (
            "def deep():\n    raise ValueError('źle')\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    deep()",
            1,
        ),
        ("this is no Python", 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(100)", 130),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", 143),
        ("import os; os.abort()", 134),
        ("import os; print('lost'); os._exit(5)", 5),
        ("import sys\nsys.excepthook = lambda *e: print('own hook', e[0].__name__)\n1 / 0", 1),
        (
            "import atexit, sys\natexit.register(print, 'last')\nopen('kept', 'w').write('kept')\nsys.exit(2)",
            2,
        ),
        (LATE, 0),
        ("import signal; print([signal.getsignal(n) for n in range(1, 32)], signal.set_wakeup_fd(-1))", 0),
        ("import random, uuid, tempfile; random.random(); print(len(uuid.uuid4().hex))", 0),
    ],
)
def test_a_warm_worker_ends_and_complains_like_a_cold_one(
    stage: WarmStage, code: str, exit_code: int
) -> None:
    order = stage.script(f"{IS_WARM}\n{code}", env={"PYTHONUNBUFFERED": "1"})

    assert f"Program exit with code {exit_code}\n" in stage.like_a_cold_one(order)


def test_buffered_output_is_written_at_the_end(stage: WarmStage) -> None:
    buffered = {"PYTHONUNBUFFERED": ""}
    stage.warm_up(env=buffered)

    printed = stage.like_a_cold_one(
        stage.script("import sys\nprint('bufor 버퍼')\nprint(2, file=sys.stderr)", env=buffered)
    )

    assert printed.startswith("2\nbufor 버퍼\n")


SEVERAL = f"""
import multiprocessing, pickle, sys
{IS_WARM}
class Próbka:
    pass
def work(x):
    return x * 2, type(pickle.loads(pickle.dumps(Próbka()))).__name__
if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(work, [1, 2]), __name__)
            pool.close()
            pool.join()
"""


def test_a_warm_worker_has_children_and_pickles_what_its_script_defines(stage: WarmStage) -> None:
    printed = stage.like_a_cold_one(stage.script(SEVERAL, name="wiele.py"))

    assert printed.count("Próbka") == 4


def test_modules_and_shell_lines_are_plain_calls_too(stage: WarmStage) -> None:
    package = stage.directory / "pakiet"
    package.mkdir()
    (package / "__init__.py").touch()
    told = "import sys; print(__name__, __spec__.name, sys.argv, sys.path[0])"
    (package / "trening.py").write_text(
        f"{IS_WARM}\n{told}\nprint('WARM' if warm else 'cold', file=open('how', 'a'))"
    )
    module = stage.call(sys.executable, "-m", "pakiet.trening", "--x", "1")
    line = stage.call("/bin/sh", "-c", f"exec '{sys.executable}' -u -m pakiet.trening 'dwa słowa'")

    assert "__main__ pakiet.trening" in stage.like_a_cold_one(module)
    assert "dwa słowa" in stage.like_a_cold_one(line)
    assert (stage.directory / "how").read_text().split() == ["WARM", "cold", "WARM", "cold"]


def test_a_module_beside_the_script_wins_over_one_that_is_loaded(stage: WarmStage) -> None:
    (stage.directory / "shlex.py").write_text("mine = True\n")

    printed = stage.run(stage.script(f"{IS_WARM}\nimport shlex\nprint(shlex.mine, warm)"))

    assert printed.startswith("True False")


def test_a_stopped_warm_worker_may_save_its_state(stage: WarmStage) -> None:
    code = (
        f"{IS_WARM}\nimport signal, sys, time\n"
        "def drained(*_):\n    print('zapisane')\n    sys.exit(143)\n"
        "signal.signal(signal.SIGTERM, drained)\nprint('ready', warm, flush=True)\ntime.sleep(1000)"
    )
    order = stage.started_warm(code)

    stage.desk.want()

    assert "zapisane\nProgram exit with code 143\n" in stage.desk.until_logged(order, "Program exit")


WAITS = f"""
{IS_WARM}
import time, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(1, b"daemon %d\\n" % os.getpid())
        time.sleep(1000)
    os._exit(0)
os.wait()
os.write(1, b"ready %r\\n" % warm)
time.sleep(1000)
"""


def test_a_warm_worker_and_all_it_started_die_with_its_shim(stage: WarmStage) -> None:
    order = stage.started_warm(WAITS)

    os.kill(stage.node.shim_pid(order), signal.SIGKILL)

    assert stage.desk.until_exited(order).reason is ExitReason.VANISHED
    stage.desk.until(lambda: stage.node.pids() == {stage.node.pid} | stage.server_pids())


def test_a_warm_worker_is_known_by_its_variables_and_arguments(stage: WarmStage) -> None:
    order = stage.started_warm(WAITS, "--naród", "대한민국", env={"RANK": "3"})

    pid = stage.desk.until_running(order).pid
    assert pid is not None
    assert environment_of(pid)["RANK"] == "3"
    assert environment_of(pid)[env.REPORT] == str(stage.node.files(order) / "report")
    told = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    assert told.rstrip("\0").split("\0") == list(order.argv)


def test_a_warm_worker_outlives_its_supervisor_and_is_taken_over(stage: WarmStage) -> None:
    code = f"{IS_WARM}\nimport sys\nprint('ready', warm, flush=True)\nopen('go').read()\nsys.exit(9)"
    os.mkfifo(stage.directory / "go")
    order = stage.started_warm(code)

    servers = stage.server_pids()
    stage.node.kill()
    stage.desk.until(lambda: not servers & stage.node.pids())
    stage.node.come_back()
    (stage.directory / "go").write_text("go on")

    seen = stage.desk.until_exited(order)
    assert (seen.exit_code, seen.reason) == (9, ExitReason.ENDED)


def test_a_dead_warm_server_delays_nobody(stage: WarmStage) -> None:
    (server,) = stage.server_pids()

    os.kill(server, signal.SIGKILL)

    assert stage.run(stage.script(f"{IS_WARM}\nprint('warm', warm)")).startswith("warm False")
    stage.warm_up()
    assert stage.server_pids().isdisjoint({server})


def test_a_warm_server_that_does_not_answer_is_replaced_and_its_worker_started(stage: WarmStage) -> None:
    (server,) = stage.server_pids()

    os.kill(server, signal.SIGSTOP)

    assert stage.run(stage.script(f"{IS_WARM}\nprint('warm', warm)")).startswith("warm False")
    stage.desk.until(lambda: server not in stage.node.pids())


def test_what_was_installed_anew_is_imported_anew(stage: WarmStage, library: Path) -> None:
    module = library / "ciezki_modul.py"
    text = module.read_text(encoding="utf-8")
    try:
        new = module.with_suffix(".new")
        new.write_text(f"{text}version = 'nowa'\n", encoding="utf-8")
        new.replace(module)

        printed = stage.run(stage.script("import ciezki_modul; print(ciezki_modul.version)"))

        assert printed.startswith("nowa")
    finally:
        module.write_text(text, encoding="utf-8")


def test_an_environment_without_the_module_is_left_alone(stage: WarmStage) -> None:
    servers = stage.server_pids()
    elsewhere = {"PYTHONPATH": str(stage.directory)}

    printed = [stage.run(stage.script("print('bez')", env=elsewhere)) for _ in range(3)]

    assert all(text.startswith("bez") for text in printed)
    stage.desk.until(lambda: stage.server_pids() <= servers)


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=[] if seed < 1 else pytest.mark.big) for seed in range(20)]
)
def test_no_warm_worker_is_doubled_or_left_over_whatever_is_killed(stage: WarmStage, seed: int) -> None:
    chance = random.Random(seed)
    code = "import os, sys, time\nos.close(os.open(sys.argv[1], os.O_CREAT | os.O_EXCL))\ntime.sleep(1000)"
    orders: list[WorkerOrder] = []
    for step in range(12):
        act = chance.choice(["start", "start", "kill any", "kill server", "kill supervisor"])
        victims = sorted(stage.node.pids() - {stage.node.pid})
        if act == "start":
            slot = len(orders) % 4  # the last three are wanted, each on a slot of its own
            orders.append(stage.script(code, f"started{step}", slot=slot, grace=0.2))
            stage.desk.want(*orders[-3:])
        elif act == "kill supervisor":
            stage.node.kill()
            stage.node.start()
        elif act == "kill server" and (servers := stage.server_pids()):
            _kill(min(servers))
        elif victims:
            _kill(chance.choice(victims))

    stage.node.come_back()
    last = orders[-3:]
    stage.desk.until(lambda: all(_settled(stage, order) for order in last))
    stage.desk.want()
    stage.desk.until(lambda: not stage.desk.engine.observe().workers)
    assert [log for log in stage.desk.logs.text.values() if b"FileExistsError" in log] == []


def _settled(stage: WarmStage, order: WorkerOrder) -> bool:
    seen = stage.desk.seen(order)
    return seen is not None and seen.state in (WorkerState.RUNNING, WorkerState.EXITED)


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
