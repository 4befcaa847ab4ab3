"""Earliest deadline first without and with admission control, event by event as the reference handles it."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.errors import PlanRefused
from tenuto.sim.artifact.edf_plan import plan_everybody, plan_until_late, plan_who_matters
from tenuto.sim.artifact.progress import start
from tenuto.sim.artifact.queues import append, copy_queue, sort_by_deadline, sort_by_size
from tenuto.sim.artifact.ranks import place_by_size, place_in_order
from tenuto.sim.artifact.state import DECLINED, PENDING, RUNNING, Roster, Rows
from tenuto.sim.artifact.world import World


def handle_edf(world: World) -> None:
    """Handle the present event and move to the next. Scaling costs nothing here (Q8)."""
    rules, rows, roster = world.rules, world.rows, world.roster
    world.settle(by_real_end=False)
    world.release_and_end(by_real_end=False, only_holding=False)
    newcomers = world.newcomers()
    _line_up(rows, roster, newcomers.start, newcomers.stop)
    plan_who_matters(rules, rows, roster.lineup, world.desk.capacity, world.now)
    _apply_to_all(rows, roster, world.now)
    place_by_size(rules, rows, roster.lineup, world.groups)
    world.write_log()
    world.advance()


def handle_edf_admission(world: World) -> None:
    """Handle the present event and move to the next."""
    rules, rows, roster = world.rules, world.rows, world.roster
    world.settle(by_real_end=False)
    world.release_and_end(by_real_end=False, only_holding=False)
    verdicts = [_admit(world, job) for job in world.newcomers()]
    if not any(verdicts):
        sort_by_deadline(roster.queue, rows, roster.spare)
        plan_everybody(rules, rows, roster.queue, world.desk.capacity, world.now)
        _apply_to_holders(rows, roster, world.now)
    homeless = place_in_order(rules, rows, roster.queue, world.groups)
    if homeless >= 0:
        raise PlanRefused(
            f"at {world.now:.0f} s job {homeless} finds no {rows[homeless]['gpus']} GPUs side by side: "
            "under this policy the reference places jobs in any order of sizes, and stops here too"
        )
    world.write_log()
    world.charge(roster.queue)
    world.advance()


def _admit(world: World, job: int) -> bool:
    """Admit a newcomer if all jobs together are in time, and let the new plan hold at once."""
    rules, rows, roster = world.rules, world.rows, world.roster
    append(roster.queue, job)
    copy_queue(roster.queue, roster.lineup)
    sort_by_deadline(roster.lineup, rows, roster.spare)
    row = rows[job]
    if not plan_until_late(rules, rows, roster.lineup, world.desk.capacity, world.now):
        roster.queue.size[0] -= 1
        row["phase"] = DECLINED
        world.done += 1
        return False
    row["phase"] = PENDING
    if not row["best_effort"]:
        row["promised"] = row["planned_end"]
    _apply_to_all(rows, roster, world.now)
    return True


@compiled
def _line_up(rows: Rows, roster: Roster, first: int, last: int) -> None:
    """Put newcomers at the end of the queue. Only an event without any sorts the queue itself."""
    for job in range(first, last):
        append(roster.queue, job)
        rows[job].phase = PENDING
    if first == last:
        sort_by_deadline(roster.queue, rows, roster.spare)
    copy_queue(roster.queue, roster.lineup)
    sort_by_deadline(roster.lineup, rows, roster.spare)


@compiled
def _apply(rows: Rows, roster: Roster, job: int, now: float) -> None:
    """Give a job what was planned; one that runs keeps an end event even while it holds nothing."""
    row = rows[job]
    row.gpus = row.planned_gpus
    row.end = row.planned_end
    if row.phase == PENDING and row.gpus > 0:
        start(rows, roster, job, now)
    if row.phase == RUNNING:
        row.event = row.end


@compiled
def _apply_to_all(rows: Rows, roster: Roster, now: float) -> None:
    """Let the plan hold. Jobs stand in the lineup by their sizes afterwards."""
    for job in roster.queue.jobs[: roster.queue.size[0]]:
        _apply(rows, roster, job, now)
    copy_queue(roster.queue, roster.lineup)
    sort_by_size(roster.lineup, rows, roster.spare)


@compiled
def _apply_to_holders(rows: Rows, roster: Roster, now: float) -> None:
    """Let the plan hold for jobs that get GPUs; the others keep their old ends and events (Q30)."""
    for job in roster.queue.jobs[: roster.queue.size[0]]:
        rows[job].gpus = 0
        if rows[job].planned_gpus > 0:
            _apply(rows, roster, job, now)
