"""Makes of a forked process what `python train.py` would be: its place, variables, streams and modules.

Standard library only: it runs in the job's own Python.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import importlib.machinery
import io
import json
import os
import runpy
import signal
import sys
import types

from tenuto.engines.supervisor.shim.program import NoSuchPlace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tenuto.engines.supervisor.shim.program import Program
    from tenuto.engines.supervisor.warm.program import Born

ROOM = "TENUTO_ROOM"
"""A long variable of the server, in whose place a worker shows its own variables."""
_ARGUMENTS, _VARIABLES = 45, 47
"""Where /proc/PID/stat tells where arguments and variables lie in memory, counted after the program's name."""
_MODULE_ENDS = tuple(importlib.machinery.all_suffixes())


def become(born: Born) -> None:
    """Be the worker; ends as its program ends."""
    cores = len(os.sched_getaffinity(0))
    _take_place(born)
    _hear_signals_anew()
    _set_variables(born.program.env)
    show_in_proc(born.program)
    os.close(born.tell)
    _close_all_but(born.keep)
    _open_streams(unbuffered=born.call["unbuffered"] or bool(os.environ.get("PYTHONUNBUFFERED")))
    _refresh_libraries(cores)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tenuto"]:
        del sys.modules[name]  # the job's own is another one, or none
    _run(born.call)


def _take_place(born: Born) -> None:
    """What a shim's child does before it becomes its command; where only an exec will do, that."""
    program = born.program
    try:
        program.enter(born.parent, born.output)
        first = _first_on_the_path(born.call)
        if _hides_something(first):
            os.execvpe(program.argv[0], program.argv, program.env)  # noqa: S606 - argv, no shell
        sys.path.insert(0, first)
    except OSError as error:
        what = "enter" if isinstance(error, NoSuchPlace) else "start"
        os.write(born.tell, json.dumps([what, error.errno or errno.EINVAL]).encode())
        os._exit(127)


def _first_on_the_path(call: dict[str, Any]) -> str:
    if call["module"]:
        return os.getcwd()
    script: str = call["script"]
    return os.path.dirname(os.path.realpath(script))


def _hides_something(directory: str) -> bool:
    """Whether a module lies there that a fresh interpreter would have taken for one that is loaded by now."""
    loaded = {name for name in sys.modules if "." not in name} - {"tenuto", "__main__"}
    try:
        entries = os.listdir(directory)
    except OSError:
        return False
    for entry in entries:
        name = entry.partition(".")[0]
        if name not in loaded or name in sys.builtin_module_names:
            continue
        is_package = entry == name and os.path.exists(os.path.join(directory, entry, "__init__.py"))
        if (is_package or entry.endswith(_MODULE_ENDS)) and not _comes_from(name, directory):
            return True
    return False


def _comes_from(name: str, directory: str) -> bool:
    file = getattr(sys.modules[name], "__file__", None) or ""
    return file.startswith(os.path.join(directory, ""))


def _hear_signals_anew() -> None:
    """As an interpreter does when it starts; `enter` has undone what the shim had set for the others."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)


def _set_variables(variables: dict[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


def show_in_proc(program: Program) -> None:
    """Let /proc/PID tell the worker's arguments and variables, by which people and supervisors know it."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[_ARGUMENTS]), int(fields[_ARGUMENTS + 1])
    _overwrite(start, end - start, [os.fsencode(word) for word in program.argv])
    start, end = int(fields[_VARIABLES]), int(fields[_VARIABLES + 1])
    room = ctypes.string_at(start, end - start).find(f"{ROOM}=".encode())
    if room >= 0:
        # Only there: a library may have kept pointers to its variables.
        its = [os.fsencode(f"{name}={value}") for name, value in reversed(program.env.items())]
        _overwrite(start + room, end - start - room, its)


def _overwrite(address: int, size: int, strings: list[bytes]) -> None:
    """Put as many strings there as there is room for."""
    used = 0
    ctypes.memset(address, 0, size)
    for string in strings:
        if used + len(string) + 1 <= size:
            ctypes.memmove(address + used, string, len(string))
            used += len(string) + 1


def _close_all_but(keep: frozenset[int]) -> None:
    for descriptor in [int(name) for name in os.listdir("/proc/self/fd")]:
        if descriptor > 2 and descriptor not in keep:
            try:
                os.close(descriptor)
            except OSError:
                continue  # the one that listed them


def _open_streams(*, unbuffered: bool) -> None:
    """As an interpreter does when it starts; `sys.__stdout__` and so on included."""
    coding = sys.stdout.encoding
    kinds = (("stdin", sys.stdin.errors), ("stdout", sys.stdout.errors), ("stderr", "backslashreplace"))
    for number, (name, errors) in enumerate(kinds):
        raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
        raw.name = f"<{name}>"
        through = unbuffered and number > 0
        buffered: Any = (
            raw if through else (io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw))
        )
        stream = io.TextIOWrapper(
            buffered, coding, errors, "\n", line_buffering=number == 2 and not through, write_through=through
        )
        stream.mode = "w" if number else "r"  # type: ignore[misc]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _refresh_libraries(cores_before: int) -> None:
    """What libraries found out about their process when they were loaded, in the server."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
    if "multiprocessing.process" in sys.modules:
        process = sys.modules["multiprocessing.process"]
        process.ORIGINAL_DIR = os.path.abspath(os.getcwd())  # type: ignore[attr-defined]
        process.current_process().authkey = os.urandom(32)
    if "torch" in sys.modules and (threads := _threads(cores_before)) is not None:
        sys.modules["torch"].set_num_threads(threads)


def _threads(cores_before: int) -> int | None:
    """How many threads arithmetic shall use, if not as many as the server would."""
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    cores = len(os.sched_getaffinity(0))
    return cores if cores < cores_before else None


def _run(call: dict[str, Any]) -> None:
    """Run the script or module as `__main__`; what it raises ends the process as always, without our own lines."""
    sys.argv = [call["script"], *call["arguments"]]
    sys.orig_argv = list(call["argv"])
    main = types.ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __annotations__={})
    sys.modules["__main__"] = main
    try:
        if call["module"]:
            sys.argv[0] = "-m"
            runpy._run_module_as_main(call["module"])  # type: ignore[attr-defined]
        else:
            _run_script(main, call["script"])
    except SystemExit:
        raise
    except BaseException:
        _leave_ourselves_out()
        raise


def _run_script(main: types.ModuleType, script: str) -> None:
    path = os.path.abspath(script)
    main.__file__ = path
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, main.__dict__)  # noqa: S102 - this is what a worker is for


def _leave_ourselves_out() -> None:
    """Have the traceback begin where the script does."""
    hook, here = sys.excepthook, os.path.join(os.path.dirname(__file__), "")

    def without_us(
        kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
    ) -> None:
        while trace is not None and trace.tb_frame.f_code.co_filename.startswith(here):
            trace = trace.tb_next
        hook(kind, error.with_traceback(trace), trace)

    sys.excepthook = without_us
