"""A job or a node that is looked into, as lines of so many cells. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.text import Text

from tenuto.cli.humane import clock, in_local_time, parsed, span, told
from tenuto.cli.node_view import node_lines
from tenuto.cli.sparkline import sparkline
from tenuto.cli.top.cells import Part, bar, clean, fitted, joined, number
from tenuto.cli.top.kinds import promise_of, state_of
from tenuto.cli.top.model import Json, Target

_LABEL = 10
_SHOWN_MEMBERS = 64


def details_of(target: Target, found: Json | None, width: int, now: datetime) -> list[Text]:
    """What is known of it."""
    if found is None:
        return [Text(f"Looking at {target.kind} {target.name} …", style="dim")]
    if "problem" in found:
        return [Text(f"{target.kind} {target.name}: {found['problem']}", style="yellow")]
    if target.kind == "node":
        return node_lines(found["node"], found["sample"], width)
    job = found["job"]
    return [
        *_facts(job, width, now),
        *_curves(found, width),
        *_output(found["logs"], width),
        *_events(found["events"], width, now),
        *_members(job, width),
    ]


def _facts(job: Json, width: int, now: datetime) -> Iterator[Text]:
    yield _line(width, "job", (job["name"], "bold"), f" ({job['id']})  of {job['owner']}")
    state: list[Part] = [state_of(job["state"])]
    if job["wish"]:
        state.append(f" (told to {job['wish']})")
    if job.get("idle_since"):
        idle = span((now - parsed(job["idle_since"])).total_seconds())
        state.append((f"  holds GPUs without using them for {idle}", "bold yellow"))
    yield _line(width, "state", *state)
    if job["message"] and job["state"] != "running":
        yield _line(width, "because", in_local_time(job["message"], now))
    places = ", ".join(f"{node}:{len(slots)}" for node, slots in (job["slots"] or job["seats"]).items())
    least, most = job["min_workers"], job["max_workers"]
    sizes = f"{most}" if least == most else f"{least}..{most}"
    yield _line(width, "workers", f"{job['workers']} of {sizes}  {places}")
    yield from _progress(job, width)
    if job["eta"] and job["eta"]["finish"]:
        yield _line(width, "ETA", told(parsed(job["eta"]["finish"]), now))
    promised = (job["contract"] or {}).get("promised") or job["deadline"]
    if promised:
        yield _line(
            width, "due", told(parsed(promised), now), "  promise ", promise_of(job["promise"]["state"])
        )


def _progress(job: Json, width: int) -> Iterator[Text]:
    progress = job["progress"]
    if progress["total"]:
        share = 100 * (progress["done"] or 0.0) / progress["total"]
        counts = (
            f" {share:.0f}%  {number(progress['done'])} of {number(progress['total'])} {progress['unit']}"
        )
        speed = f"  {number(progress['speed'])} {progress['unit']}/s" if progress["speed"] else ""
        yield _line(width, "done", (bar(share, 20), "blue"), counts, speed)


def _curves(found: Json, width: int) -> Iterator[Text]:
    """How numbers went in the last minutes."""
    room = max(width - _LABEL - 12 - 2, 8)
    for name, values in _named(found).items():
        known = [value for value in values if value is not None]
        if known:
            line = sparkline(values, min(room, 60))
            yield _line(width, name, f"{number(known[-1]):>11} ", (line, "cyan"))


def _named(found: Json) -> Mapping[str, Sequence[float | None]]:
    """The throughput, what the program reports, and the use of its GPUs."""
    columns = {item["part"]: item["values"] for item in found["numbers"]}
    rates = {"samples/s": columns.get("", {}).get("samples_per_second", [])}
    return rates | dict(columns.get("values", {})) | {"GPU %": _mean(found["gpus"])}


def _mean(columns: Sequence[Sequence[float | None]]) -> list[float | None]:
    """Of several GPUs, counted from the newest point back, since some are watched for longer."""
    length = max(map(len, columns), default=0)
    padded = [[*[None] * (length - len(column)), *column] for column in columns]
    return [
        _mean_of([value for value in values if value is not None]) for values in zip(*padded, strict=True)
    ]


def _mean_of(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _members(job: Json, width: int) -> Iterator[Text]:
    if not job["members"]:
        return
    yield Text("")
    yield _line(width, "rank", ("node              slot  stage", "dim"))
    for member in job["members"][:_SHOWN_MEMBERS]:
        yield _line(
            width, str(member["rank"]), f"{member['node']:<16}  {member['slot']:>4}  {member['stage']}"
        )
    if len(job["members"]) > _SHOWN_MEMBERS:
        yield _line(width, "", (f"and {len(job['members']) - _SHOWN_MEMBERS} more", "dim"))


def _events(events: Sequence[Json], width: int, now: datetime) -> Iterator[Text]:
    if not events:
        return
    yield Text("")
    yield Text("events", style="bold")
    for event in events:
        change = (
            f"{event['before']} → {event['after']}" if event["before"] and event["after"] else event["after"]
        )
        said = "  ".join(filter(None, (event["kind"], change, in_local_time(event["reason"], now))))
        line = joined([(f"{clock(parsed(event['at']), now)}  ", "dim"), clean(said)])
        line.truncate(width, overflow="ellipsis")
        yield line


def _output(parts: Sequence[Json], width: int) -> Iterator[Text]:
    """The last lines of the first worker that printed something."""
    part = next((part for part in parts if part["text"]), None)
    if part is None:
        return
    yield Text("")
    yield Text.assemble(("output ", "bold"), (f"of {part['role']}/{part['rank']}", "dim"))
    for text in part["text"].rstrip("\n").split("\n"):
        last = text.rstrip("\r").rpartition("\r")[2]  # of a progress bar that was drawn again and again
        line = Text(clean(last), no_wrap=True, end="")
        line.truncate(width, overflow="ellipsis")
        yield line


def _line(width: int, label: str, *parts: Part) -> Text:
    shown = [clean(part) if isinstance(part, str) else part for part in parts]
    line = joined([(f"{fitted(label, _LABEL - 1)} ", "dim"), *shown])
    line.truncate(width, overflow="ellipsis")
    return line
