"""Which lines a job's charts have: what it reports, how fast it is, how large, and how busy its GPUs are. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tenuto.dashboard.charts import Points
from tenuto.dashboard.job.course import Course, Window, lasting, means, steps_a_second
from tenuto.dashboard.job.held import Held
from tenuto.dashboard.job.stacked import Row
from tenuto.dashboard.wording import worker_name

MOST_VALUES = 4
"""Charts of reported values; more would push the rest out of sight."""
MOST_LINES = 8
"""Lines of GPUs or nodes in one chart; more are told as their mean."""
MOST_WORKERS = 16
SMOOTH = 3.0
"""Seconds over which a speed is told that is made of steps."""


def reported(course: Course) -> list[str]:
    """The values that a job reports, its loss first."""
    return sorted(course.names("values"), key=lambda name: ("loss" not in name.casefold(), name))


def chart_rows(course: Course, use: Row | None, chosen: Iterable[str], seen: Window) -> list[Row]:
    """The charts of a job, from top to bottom."""
    rows = [Row(name, {name: course.of("values", name)}) for name in chosen]
    rows += [row for row in (_speed(course),) if row is not None]
    sizes = course.of("", "workers")
    if sizes:
        rows.append(Row("workers", {"workers": lasting(_whole(sizes), seen.until)}, steps=True))
    return rows + ([use] if use is not None else [])


def _whole(sizes: Points) -> list[tuple[float, float | None]]:
    """Sizes without holes, which are true until they change; a mean of two sizes is neither of them."""
    return [(at, float(round(size))) for at, size in sizes if size is not None]


def _speed(course: Course) -> Row | None:
    """Samples a second of the job and of its nodes; steps a second where no samples are told."""
    name = "samples_per_second"
    whole = course.of("", name)
    if whole:
        nodes = course.parts("node:", name)
        few = nodes if 1 < len(nodes) <= MOST_LINES else {}
        return Row("samples/s", {"job": whole, **few})
    speed = steps_a_second(course.of("", "step"), max(SMOOTH, 2 * course.step))
    return Row("steps/s", {"job": speed}) if speed else None


def gpu_use(courses: Mapping[str, Course], gpus: Sequence[Held]) -> Row | None:
    """How busy the GPUs were while the job was on them, by what is known of their nodes."""
    lines: dict[str, Points] = {}
    for gpu in gpus:
        course = courses.get(gpu.node)
        line = [] if course is None else course.of(gpu.part, "utilisation")
        if course is not None and line:
            lines[f"{gpu.node} {gpu.part}"] = gpu.only_then(line, course.step)
    if len(lines) > MOST_LINES:
        lines = {f"mean of {len(lines)}": means([list(line) for line in lines.values()])}
    return Row("GPU use %", lines, most=100.0) if lines else None


def cpu_use(courses: Mapping[str, Course]) -> Row | None:
    """How busy the processors of a job's nodes are, where its slots are shares of them."""
    lines: dict[str, Points] = {
        node: line for node, course in courses.items() if (line := course.of("", "cpu"))
    }
    if len(lines) > MOST_LINES:
        lines = {f"mean of {len(lines)}": means([list(line) for line in lines.values()])}
    return Row("CPU use of nodes %", lines, most=100.0) if lines else None


def step_times(course: Course) -> dict[str, Points]:
    """Seconds of a step of each worker; the newest workers, if there were many."""
    found = course.parts("worker:", "seconds")
    newest = sorted(found, key=lambda name: found[name][-1][0])[-MOST_WORKERS:]
    return {worker_name(name): found[name] for name in found if name in newest}
