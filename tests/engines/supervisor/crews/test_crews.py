"""Workers that rescale in place under real supervisors, and whatever may happen meanwhile."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

from tests.engines.supervisor.crews.ballroom import FIRST, SECOND, Troupe


def test_workers_that_are_ready_start_together_and_are_seen_to(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(slot=1)

    troupe.want(one, two)
    seen = troupe.together(one, two)

    assert {worker.generation for worker in seen} == {1}
    assert troupe.formed(one, two).workers == (str(one.id), str(two.id))
    troupe.desk.until(lambda: (troupe.desk.until_running(one).step or 0) > 2)


def test_a_crew_grows_and_shrinks_and_who_stays_is_not_disturbed(troupe: Troupe) -> None:
    one, two, three = (troupe.dancer(slot=slot) for slot in range(3))
    troupe.want(one)
    troupe.together(one)
    before = troupe.pid(one)

    troupe.want(one, two, three)
    assert troupe.formed(one, two, three).why == "grow"
    troupe.together(one, two, three)
    troupe.want(three, one)
    shrunk = troupe.formed(one, three)
    troupe.together(one, three)

    assert (shrunk.why, shrunk.lost) == ("shrink", ())
    assert shrunk.workers == (str(one.id), str(three.id)), "who stays keeps its place"
    assert troupe.pid(one) == before
    assert "left at step" in troupe.desk.until_logged(two, "exit with code 143")


def test_newcomers_get_ready_while_the_others_go_on(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(slot=1)
    troupe.want(one)
    troupe.together(one)
    troupe.close_doors()

    troupe.want(one, two)
    troupe.desk.until_running(two)
    step = troupe.desk.until_running(one).step or 0
    troupe.desk.until(lambda: (troupe.desk.until_running(one).step or 0) > step)
    assert troupe.desk.until_running(two).stage in ("", "starting")
    troupe.open_doors()

    troupe.together(one, two)


def test_a_crew_moves_to_another_node_with_its_state(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(slot=1)
    troupe.want(one, two)
    troupe.together(one, two)
    three, four = troupe.dancer(node=SECOND, slot=0), troupe.dancer(node=SECOND, slot=1)
    step = troupe.desk.until_running(one).step or 0

    troupe.want(three, four, lead=SECOND)
    moved = troupe.together(three, four)

    assert all((worker.step or 0) >= step for worker in moved)
    assert "exit with code 143" in troupe.desk.until_logged(one, "exit with code")


def test_a_crew_over_two_nodes_grows_and_shrinks(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two)
    troupe.together(one, two)
    three = troupe.dancer(node=SECOND, slot=1)

    troupe.want(one, two, three, lead=SECOND)
    troupe.together(one, two, three)
    troupe.want(three, lead=SECOND)

    troupe.together(three)


def test_a_worker_that_is_killed_is_left_out_without_the_server(troupe: Troupe) -> None:
    one, two, three = troupe.dancer(slot=0), troupe.dancer(slot=1), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two, three)
    troupe.together(one, two, three)
    pids = [troupe.pid(order) for order in (one, three)]
    troupe.desk.down()

    os.kill(pids[0], signal.SIGKILL)
    after = troupe.formed(two, three)
    os.kill(pids[1], signal.SIGKILL)
    troupe.formed(two)

    assert (after.why, after.lost) == ("loss", (str(one.id),))
    troupe.desk.up()
    for node in troupe.nodes.values():
        node.write_url()
    troupe.desk.until(lambda: all(node.has_signed_in() for node in troupe.nodes.values()))
    troupe.want(one, two, three)
    assert troupe.desk.until_exited(one).exit_code == 128 + signal.SIGKILL
    troupe.desk.until(lambda: len(troupe.records("loss")) == 2)
    assert {record["reason"] for record in troupe.records("loss")} == {"SIGKILL"}


def test_a_lost_worker_is_replaced(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(slot=1)
    troupe.want(one, two)
    troupe.together(one, two)

    troupe.kill(one)
    troupe.together(two)
    three = troupe.dancer(slot=0)
    troupe.want(two, three)

    troupe.together(two, three)


def test_a_rescale_that_was_begun_is_completed_without_the_server(troupe: Troupe) -> None:
    one, two, three = troupe.dancer(slot=0), troupe.dancer(slot=1), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two)
    troupe.together(one, two)
    troupe.close_doors()
    troupe.want(one, two, three)
    troupe.desk.until_running(three)

    troupe.desk.down()
    troupe.open_doors()

    assert troupe.formed(one, two, three).why == "grow"
    troupe.desk.up()
    for node in troupe.nodes.values():
        node.write_url()


def test_a_supervisor_that_was_killed_in_the_middle_of_a_rescale_completes_it(troupe: Troupe) -> None:
    one, two, three = troupe.dancer(slot=0), troupe.dancer(slot=1), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two)
    troupe.together(one, two)
    troupe.close_doors()
    troupe.want(one, three)
    troupe.formed(one)
    troupe.desk.until_running(three)

    troupe.nodes[FIRST].kill()
    troupe.open_doors()
    troupe.nodes[FIRST].start()

    troupe.together(one, three)


def test_a_supervisor_that_comes_back_while_the_server_is_away_still_leads(troupe: Troupe) -> None:
    one, two, three = troupe.dancer(slot=0), troupe.dancer(slot=1), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two, three)
    troupe.together(one, two, three)
    victim = troupe.pid(two)
    troupe.desk.down()
    troupe.nodes[FIRST].kill()
    os.kill(victim, signal.SIGKILL)

    troupe.nodes[FIRST].start()
    troupe.formed(one, three)

    troupe.desk.up()
    for node in troupe.nodes.values():
        node.write_url()


def test_a_worker_that_hangs_is_named_with_its_stack_and_the_others_go_on(troupe: Troupe) -> None:
    one, two, three = troupe.dancer(slot=0), troupe.dancer(slot=1), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two, three)
    troupe.together(one, two, three)

    troupe.kill(three, signal.SIGSTOP)
    troupe.together(one, two)

    troupe.desk.until(lambda: troupe.records("hung") and troupe.records("loss"))
    (hung,), (loss,) = troupe.records("hung"), troupe.records("loss")
    assert (hung["worker"], hung["node"]) == (str(three.id), SECOND)
    assert "stopped" in hung["stack"]
    assert hung["seconds"] >= 5
    assert (loss["reason"], loss["exit_code"]) == ("hung", 137)


def test_a_leaver_whose_shell_dies_first_is_not_lost(troupe: Troupe) -> None:
    one, two = troupe.dancer("shell", slot=0), troupe.dancer("shell", node=SECOND, slot=1)
    troupe.want(one, two)
    troupe.together(one, two)

    troupe.want(one)
    shrunk = troupe.formed(one)

    troupe.together(one)
    assert (shrunk.why, troupe.newest(one)) == ("shrink", shrunk)
    told = troupe.desk.until_logged(two, "exit with code 143")
    assert "left at step" in told
    assert "SIGTERM" not in told, "the membership tells it; a signal would disturb what it has started"


def test_a_leaver_whose_shell_is_killed_by_the_signal_may_still_leave(troupe: Troupe) -> None:
    """Nobody has told it by a membership, as when the crew is not wanted any more at all."""
    one = troupe.dancer("shell", "deaf", slot=0)
    troupe.want(one)
    troupe.together(one)

    troupe.desk.want()
    told = troupe.desk.until_logged(one, "exit with code")

    assert told.count("SIGTERM") == 1
    assert "bye" in told


def test_a_worker_that_hangs_below_a_shell_is_asked_for_its_stack(troupe: Troupe) -> None:
    one, two = troupe.dancer("shell", slot=0), troupe.dancer("shell", "stumbles", slot=1)
    troupe.want(one, two)
    troupe.together(one, two)
    troupe.until_step(one, 400)  # the supervisor knows by then how long a step usually takes

    (troupe.floor / "stumble").touch()

    troupe.together(one)
    troupe.desk.until(lambda: troupe.records("hung"))
    assert "stumble" in troupe.records("hung")[0]["stack"]


def test_a_command_in_a_line_has_no_shell_above_it_if_it_needs_none(troupe: Troupe) -> None:
    plain = troupe.dancer(slot=0)
    one = replace(plain, argv=("/bin/sh", "-c", " ".join(plain.argv)))
    two = replace(troupe.dancer(slot=1), argv=("/bin/sh", "-c", f"true\n{' '.join(plain.argv)}\nexit $?"))

    troupe.want(one, two)
    troupe.together(one, two)

    lines = [Path(f"/proc/{troupe.pid(order)}/cmdline").read_bytes() for order in (one, two)]
    assert [line.startswith(b"/bin/sh") for line in lines] == [False, True]


def test_a_leaver_that_refuses_is_killed_and_does_no_harm(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer("refuses", slot=1, grace=0.5)
    troupe.want(one, two)
    troupe.together(one, two)

    troupe.want(one)

    troupe.together(one)
    assert "exit with code 137" in troupe.desk.until_logged(two, "exit with code")


def test_of_two_orders_at_once_the_later_one_counts(troupe: Troupe) -> None:
    one, two, three, four = (troupe.dancer(slot=slot) for slot in range(4))
    troupe.want(one, two)
    troupe.together(one, two)

    troupe.want(one, two, three, four)
    troupe.want(two, four)

    troupe.together(two, four)


def test_the_same_workers_again_change_nothing(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(slot=1)
    troupe.want(one, two)
    before = troupe.together(one, two)[0].generation
    step = troupe.desk.until_running(one).step or 0

    troupe.want(two, one)
    troupe.desk.until(lambda: (troupe.desk.until_running(one).step or 0) > step + 20)

    assert troupe.together(one, two)[0].generation == before


def test_workers_that_finish_are_left_in_peace(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(node=SECOND, slot=1)
    troupe.want(one, two)
    generation = troupe.together(one, two)[0].generation

    (troupe.floor / "finish").touch()

    for order in (one, two):
        seen = troupe.desk.until_exited(order)
        assert (seen.exit_code, seen.generation, seen.stage) == (0, generation, "finished")
    assert troupe.newest_number() == generation


def test_a_worker_that_rings_no_bell_is_seen_all_the_same(troupe: Troupe) -> None:
    one, two = troupe.dancer("silent", slot=0), troupe.dancer("silent", node=SECOND, slot=0)

    troupe.want(one, two)

    troupe.together(one, two)


def test_a_pause_has_everybody_leave_in_peace(troupe: Troupe) -> None:
    one, two = troupe.dancer(slot=0), troupe.dancer(node=SECOND, slot=0)
    troupe.want(one, two)
    troupe.together(one, two)

    troupe.want()

    for order in (one, two):
        assert "left at step" in troupe.desk.until_logged(order, "exit with code 143")
    troupe.desk.until(lambda: troupe.desk.seen(one) is None)
