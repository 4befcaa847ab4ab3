"""What the engine of real supervisors remembers: who spoke, what was said, what is wanted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.engines.builders import an_id, an_order

from tenuto.engines.local import LocalEngine
from tenuto.errors import Conflict, Unreachable
from tenuto.model.node import Slot
from tenuto.wire.node import Hello, Report
from tenuto.wire.worker import CrewOrder, ExitReason, WorkerSeen, WorkerState

RUNNING = WorkerSeen(id=an_id(), node="노드-0", state=WorkerState.RUNNING, slot=0)


class HandClock:
    """Time that passes by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_hello(node: str = "노드-0", session: str = "s-1") -> Hello:
    return Hello(node=node, session=session, slots=(Slot(), Slot()), address="10.0.0.1", version="1")


def a_report(*workers: WorkerSeen, node: str = "노드-0", session: str = "s-1") -> Report:
    return Report(node=node, session=session, workers=workers)


def an_engine(clock: HandClock | None = None) -> LocalEngine:
    """One that has heard of a node on which nothing runs."""
    engine = LocalEngine(clock or HandClock())
    engine.hello(a_hello())
    engine.report(a_report())
    return engine


def test_a_node_is_seen_only_when_it_has_told_what_runs_there() -> None:
    engine = LocalEngine(HandClock())
    engine.hello(a_hello())
    assert not engine.observe().nodes

    engine.report(a_report(RUNNING))
    assert list(engine.observe().nodes) == ["노드-0"]
    assert engine.observe().workers == {an_id(): RUNNING}


def test_the_picture_of_a_supervisor_that_starts_anew_stays_until_it_reports() -> None:
    engine = an_engine()
    engine.report(a_report(RUNNING))

    engine.hello(a_hello(session="s-2"))
    assert engine.observe().workers == {an_id(): RUNNING}

    engine.report(a_report(session="s-2"))
    assert not engine.observe().workers


def test_how_a_worker_ended_is_seen_though_it_was_forgotten_before_anybody_looked() -> None:
    engine = an_engine()
    ended = replace(RUNNING, state=WorkerState.EXITED, exit_code=0, reason=ExitReason.ENDED)
    engine.report(a_report(RUNNING))
    engine.report(a_report(ended))
    engine.report(a_report())

    assert engine.observe().workers == {an_id(): ended}
    assert not engine.observe().workers


def test_a_nodes_orders_get_a_new_version_only_when_they_change() -> None:
    engine = an_engine()
    engine.hello(a_hello("other"))
    engine.want(1, [an_order(), an_order(an_id("other"), node="other")])
    before = engine.orders("노드-0", "s-1").version

    engine.want(1, [an_order(), an_order(an_id("another"), node="other")])
    assert engine.orders("노드-0", "s-1").version == before

    engine.want(1, [an_order(an_id(generation=2))])
    assert engine.orders("노드-0", "s-1").version > before


def test_a_new_term_is_told_to_every_node_though_its_orders_stay_the_same() -> None:
    engine = an_engine()
    engine.want(1, [an_order()])
    before = engine.orders("노드-0", "s-1")
    rings: list[str] = []
    engine.on_orders("노드-0", "s-1", lambda: rings.append("ring"))

    engine.want(2, [an_order()])

    after = engine.orders("노드-0", "s-1")
    assert (after.term, after.workers) == (2, before.workers)
    assert after.version > before.version
    assert rings == ["ring"]


def test_only_nodes_whose_orders_changed_are_rung_for() -> None:
    engine = an_engine()
    engine.hello(a_hello("other"))
    engine.want(1, [])
    rings: list[str] = []
    for name in ("노드-0", "other"):
        engine.on_orders(name, "s-1", lambda name=name: rings.append(name))  # type: ignore[misc]

    engine.want(1, [an_order()])
    engine.want(1, [an_order()])

    assert rings == ["노드-0"]


def test_a_crew_is_told_to_all_its_nodes_and_a_change_of_it_is_a_new_version() -> None:
    engine = an_engine()
    engine.hello(replace(a_hello("węzeł-1"), peer="10.0.0.2:7"))
    engine.report(a_report(node="węzeł-1"))
    here, there = {"노드-0": "10.0.0.1:7"}, {"węzeł-1": "10.0.0.2:7"}
    crew = CrewOrder(job="j-1", plan=1, members=(an_id(),), lead="노드-0", peers=here | there, hosts={})

    engine.want(1, [an_order()], [crew])
    first = engine.orders("węzeł-1", "s-1")
    engine.want(1, [an_order()], [crew])
    again = engine.orders("węzeł-1", "s-1")
    engine.want(1, [an_order()], [replace(crew, plan=2, members=())])
    second = engine.orders("węzeł-1", "s-1")

    assert engine.observe().nodes["węzeł-1"].peer == "10.0.0.2:7"
    [told] = first.crews
    assert (replace(told, secret=""), first.workers) == (crew, ())
    assert len(told.secret) == 64
    assert engine.orders("노드-0", "s-1").crews == second.crews
    assert again.version == first.version < second.version


def test_a_generation_that_begins_is_news_but_a_step_of_it_is_not() -> None:
    engine = an_engine()
    rings: list[None] = []
    forming = WorkerSeen(id=an_id(), node="노드-0", state=WorkerState.RUNNING, stage="forming")
    engine.report(a_report(forming))
    engine.listen(lambda: rings.append(None))

    engine.report(a_report(replace(forming, stage="training", generation=2, step=1.0)))
    assert len(rings) == 1
    engine.report(a_report(replace(forming, stage="meeting", generation=2, step=9.0)))

    assert len(rings) == 1


def test_signs_of_life_and_steps_ring_no_bell_but_news_do() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.report(a_report(RUNNING))
    rings: list[str] = []
    engine.listen(lambda: rings.append("ring"))

    clock.now += 2.0
    engine.report(a_report(replace(RUNNING, step=5.0)))
    assert engine.observe().workers[an_id()].step == 5.0
    assert engine.observe().nodes["노드-0"].heard_at == 1002.0
    assert not rings

    engine.report(a_report(replace(RUNNING, state=WorkerState.EXITED, exit_code=0)))
    assert rings == ["ring"]


def test_a_node_that_is_heard_again_after_a_long_silence_is_news() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    rings: list[str] = []
    engine.listen(lambda: rings.append("ring"))

    clock.now += 15.0
    engine.heard("노드-0", "s-1")
    engine.report(a_report())
    engine.report(a_report())

    assert rings == ["ring"]


def test_a_node_with_other_slots_than_before_is_news() -> None:
    engine = an_engine()
    rings: list[str] = []
    engine.listen(lambda: rings.append("ring"))

    engine.hello(replace(a_hello(session="s-2"), slots=(Slot(),)))
    engine.report(a_report(session="s-2"))

    assert rings == ["ring"]
    assert len(engine.observe().nodes["노드-0"].slots) == 1


def test_who_has_stopped_listening_is_not_rung_for() -> None:
    engine = an_engine()
    rings: list[str] = []
    engine.listen(lambda: rings.append("ring"))()

    engine.report(a_report(RUNNING))

    assert not rings


def test_asking_for_orders_is_a_sign_of_life() -> None:
    clock = HandClock()
    engine = an_engine(clock)

    clock.now += 1.0
    engine.heard("노드-0", "s-1")

    assert engine.observe().nodes["노드-0"].heard_at == 1001.0


def test_a_removed_node_is_told_to_leave_and_its_workers_are_seen_until_they_are_gone() -> None:
    engine = an_engine()
    engine.want(1, [an_order()])
    engine.report(a_report(RUNNING))

    engine.forget_node("노드-0")

    orders = engine.orders("노드-0", "s-1")
    assert (orders.leave, orders.workers) == (True, ())
    assert not engine.observe().nodes
    assert an_id() in engine.observe().workers
    engine.report(a_report())
    assert not engine.observe().workers


def test_a_removed_node_whose_supervisor_is_restarted_meanwhile_must_still_leave() -> None:
    engine = an_engine()
    engine.want(1, [])
    engine.report(a_report(RUNNING))
    engine.forget_node("노드-0")

    engine.hello(a_hello(session="s-2"))

    assert engine.orders("노드-0", "s-2").leave


def test_a_machine_may_join_under_the_name_of_one_that_has_left() -> None:
    engine = an_engine()
    engine.want(1, [])
    engine.forget_node("노드-0")

    engine.hello(a_hello(session="s-2"))
    engine.report(a_report(session="s-2"))

    assert not engine.orders("노드-0", "s-2").leave
    assert list(engine.observe().nodes) == ["노드-0"]


def test_a_machine_may_join_under_the_name_of_one_that_was_lost() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.want(1, [])
    engine.report(a_report(RUNNING))
    engine.forget_node("노드-0")
    clock.now += 15.0

    engine.hello(a_hello(session="s-2"))

    assert not engine.orders("노드-0", "s-2").leave


def test_a_removed_node_that_fell_silent_is_not_waited_for_longer_than_the_timeout() -> None:
    clock = HandClock()
    engine = an_engine(clock)
    engine.report(a_report(RUNNING))
    engine.forget_node("노드-0")
    assert engine.observe().workers

    clock.now += 15.0
    assert not engine.observe().workers


@pytest.mark.parametrize(("obeyed", "leaves"), [(7, True), (0, False)])
def test_a_node_removed_before_it_was_heard_of_must_leave_but_a_new_one_of_its_name_may_join(
    obeyed: int, leaves: bool
) -> None:
    engine = an_engine()
    engine.want(8, [])
    engine.forget_node("other")

    engine.hello(replace(a_hello("other"), obeyed=obeyed))
    engine.report(a_report(node="other"))

    assert engine.orders("other", "s-1").leave is leaves
    assert ("other" in engine.observe().nodes) is not leaves


def test_a_session_nobody_has_heard_of_must_say_hello() -> None:
    with pytest.raises(Conflict) as told:
        an_engine().report(a_report(session="s-9"))

    assert told.value.code == "say_hello"


def test_a_closed_engine_answers_nobody() -> None:
    engine = an_engine()
    rings: list[str] = []
    engine.on_orders("노드-0", "s-1", lambda: rings.append("ring"))

    engine.close()

    assert rings == ["ring"]
    for ask in (
        lambda: engine.hello(a_hello()),
        lambda: engine.report(a_report()),
        lambda: engine.orders("노드-0", "s-1"),
    ):
        with pytest.raises(Unreachable):
            ask()


def test_a_removed_node_is_waited_for_while_the_server_does_not_listen() -> None:
    clock, listening = HandClock(), HandClock()
    engine = LocalEngine(clock, listened=listening)
    engine.hello(a_hello())
    engine.report(a_report(RUNNING))
    engine.forget_node("노드-0")
    clock.now += 3600.0
    assert an_id() in engine.observe().workers

    listening.now += 15.0

    assert not engine.observe().workers


def test_an_observation_tells_how_long_a_node_could_have_been_heard_and_was_not() -> None:
    clock, listening = HandClock(), HandClock()
    engine = LocalEngine(clock, listened=listening)
    engine.hello(a_hello())
    engine.report(a_report())
    clock.now += 3600.0
    listening.now += 2.0

    seen = engine.observe()

    assert seen.silence("노드-0", since=0.0) == 2.0
    assert seen.silence("unheard", since=1000.0) == 2.0
