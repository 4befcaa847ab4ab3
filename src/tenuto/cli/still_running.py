"""What still runs of this machine's nodes: processes of workers, whatever their supervisors know of them."""

from __future__ import annotations

from pathlib import Path

from tenuto.cli.home import Home
from tenuto.engines.supervisor.leftovers import marked_processes
from tenuto.errors import Told

_MOST_SHOWN = 20


class StillRunning(Told):
    """Not everything has stopped."""

    code = "still_running"


def worker_processes(home: Home) -> dict[int, str]:
    """The processes of workers of this machine's nodes by their ids, with the name of the node and of the worker.

    They are found by a variable of their environment. It counts them even if the supervisor's directory was deleted,
    and with it everything that the supervisors knew of them.
    """
    found: dict[int, str] = {}
    for nodes in {home.nodes.absolute(), home.nodes.resolve()}:
        for pid, place in marked_processes(nodes):
            node, _, worker = place.partition("/workers/")
            found[pid] = f"{worker or Path(place).name} on {node}"
    return dict(sorted(found.items()))


def refuse_if_workers_run(home: Home) -> None:
    """Raise StillRunning, with all ids, if a process of a worker is left on this machine."""
    left = worker_processes(home)
    if not left:
        return
    shown = [f"{pid} ({name})" for pid, name in left.items()][:_MOST_SHOWN]
    more = f" and {len(left) - len(shown)} more" if len(left) > len(shown) else ""
    count = "1 process of a worker is" if len(left) == 1 else f"{len(left)} processes of workers are"
    pids = " ".join(str(pid) for pid in list(left)[:_MOST_SHOWN])
    raise StillRunning(
        f"{count} still running: {', '.join(shown)}{more}",
        remedy=f"End them with: kill {pids}; then say tenuto down again",
    )
