"""Events in plain words: what happened, as it stands behind the name of whom it is about; and who did it. Pure text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tenuto.wire.replies import EventOut

_BY_AFTER: Mapping[str, Mapping[str, str]] = {
    "node": {
        "online": "is online", "offline": "is offline", "draining": "is draining", "removed": "was removed",
    },
    "verdict": {"admitted": "was admitted", "declined": "was declined", "queued": "was put into the queue"},
    "promise": {
        "holds": "has a promise", "at_risk": "may miss its promise", "broken": "has missed its promise",
        "kept": "kept its promise", "withdrawn": "has no promise any more",
    },
    "phase": {
        "submitted": "is looked at again", "held": "is held", "queued": "waits", "starting": "is starting",
        "running": "is running", "rescaling": "is rescaling", "paused": "is paused",
        "unschedulable": "does not fit the cluster", "declined": "was declined", "succeeded": "succeeded",
        "failed": "failed", "lost": "was lost", "cancelled": "was cancelled",
    },
    "worker": {"failed": "had a worker that failed", "lost": "lost a worker"},
    "wish": {
        "pause": "shall pause", "resume": "shall go on", "cancel": "shall end", "hold": "shall be held",
        "release": "shall be held no more",
    },
    "cluster": {"draining": "the platform takes no more jobs"},
    "policy": {"failed": "the policy failed"},
}  # fmt: skip
_BY_KIND: Mapping[str, str] = {
    "submitted": "was submitted", "checkpoint": "saved a checkpoint", "summary": "summed up its training",
    "loss": "lost a worker", "hung": "stands still", "problem": "has files that cannot be used",
    "idle": "uses none of its GPUs", "busy": "uses its GPUs again",
    "logs": "had its log deleted", "changed": "was changed", "deleted": "was deleted",
    "monitoring": "has a gap in its history", "unreadable": "cannot be read", "shadows": "other policies decide along",
}  # fmt: skip
_WORKER, _POLICY, _NODE, _CONTROLLER = "worker:", "policy:", "node:", "controller"


def told(event: EventOut) -> str:
    """What happened: `is running`, `went from 2 to 3 workers`."""
    if event.kind in _CHANGES:
        return _CHANGES[event.kind](event.before, event.after)
    if event.kind == "promise" and event.after == "holds" and event.before == "at_risk":
        return "is expected to keep its promise again"
    known = _BY_AFTER.get(event.kind, {}).get(event.after) or _BY_KIND.get(event.kind)
    if known:
        return known
    if event.kind == "policy":
        return (
            f"the policy is {event.after} now"
            if event.before != event.after
            else "the policy has other settings"
        )
    change = " → ".join(filter(None, (event.before, event.after)))
    return f"{event.kind}: {change}" if change else event.kind


def reason(event: EventOut) -> str:
    """Why, without what is said already."""
    if event.reason == f"{event.actor} asked for it":
        return ""
    return event.reason.removeprefix(f"{event.after}: ") if event.after else event.reason


def actor(event: EventOut) -> str:
    """Who did it: a user by name, a part of the platform by what it is."""
    if event.actor.startswith(_WORKER):
        return f"its worker {event.actor.rpartition('.')[2]}"
    if event.actor.startswith(_POLICY):
        return f"the policy {event.actor.removeprefix(_POLICY)}"
    return "the controller" if event.actor == _CONTROLLER else event.actor.removeprefix(_NODE)


def places(written: str) -> str:
    """`node-0:4,node-1:1` as people say it: `4 on node-0, 1 on node-1`."""
    parts = (part.strip().rpartition(":") for part in written.split(","))
    return ", ".join(f"{count} on {node}" if node else count for node, _, count in parts)


def _scaled(before: str, after: str) -> str:
    if not after:
        return f"gave its slots back: {places(before)}" if before else "gave its slots back"
    return f"went from {places(before)} to {places(after)}" if before else f"got slots: {places(after)}"


def _rescaled(before: str, after: str) -> str:
    if before in ("", "0"):
        return f"began to train on {_workers(after)}"
    return (
        f"trains on {_workers(after)} again"
        if before == after
        else f"went from {before} to {_workers(after)}"
    )


def _pinned(_: str, after: str) -> str:
    return "is sized by the policy again" if after == "auto" else f"shall have {_workers(after)}"


def _workers(count: str) -> str:
    return "1 worker" if count == "1" else f"{count} workers"


_CHANGES: Mapping[str, Callable[[str, str], str]] = {
    "scaled": _scaled, "rescale": _rescaled, "pinned": _pinned,
}  # fmt: skip
