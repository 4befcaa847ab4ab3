"""What follows from what is wanted and what is here."""

from __future__ import annotations

from dataclasses import replace

from tests.engines.supervisor.node import an_order

from tenuto.engines.supervisor.converge import Held, converge
from tenuto.wire.worker import WorkerOrder


def held(order: WorkerOrder, *, gone: bool = False, stopping: bool = False, told: bool = False) -> Held:
    return Held(slot=order.slot, gone=gone, stopping=stopping, told=told)


def test_what_is_wanted_and_not_here_is_started() -> None:
    one, two, beside = an_order(slot=0), an_order(slot=1), an_order(slot=None, role="ps")

    steps = converge({order.id: order for order in (two, one, beside)}, {})

    assert [order.id for order in steps.start] == sorted([one.id, two.id, beside.id])
    assert (steps.wait, steps.stop, steps.forget) == ((), (), ())


def test_what_is_here_is_never_started_again() -> None:
    ended = an_order()

    steps = converge({ended.id: ended}, {ended.id: held(ended, gone=True, told=True)})

    assert (steps.start, steps.wait, steps.stop, steps.forget) == ((), (), (), ())


def test_who_finds_the_slot_taken_waits_even_if_the_holder_is_wanted() -> None:
    holder, heir, later = an_order("a"), an_order("b"), an_order("c")

    while_held = converge({heir.id: heir}, {holder.id: held(holder)})
    when_free = converge({heir.id: heir, later.id: later}, {holder.id: held(holder, gone=True)})

    assert (while_held.start, while_held.wait, while_held.stop) == ((), (heir,), (holder.id,))
    assert (when_free.start, when_free.wait) == ((heir,), (later,))


def test_only_who_shares_comes_to_those_who_share_and_stay() -> None:
    holder, guest = (replace(an_order(job), shares=True) for job in ("a", "b"))
    alone = an_order("c")
    there = {holder.id: replace(held(holder), shares=True)}

    beside = converge({order.id: order for order in (holder, guest, alone)}, there)
    behind = converge({guest.id: guest}, there)

    assert (beside.start, beside.wait) == ((guest,), (alone,))
    assert (behind.start, behind.wait, behind.stop) == ((), (guest,), (holder.id,))


def test_who_is_stopping_is_not_told_again() -> None:
    order = an_order()

    assert converge({}, {order.id: held(order, stopping=True)}).stop == ()


def test_who_others_still_train_with_is_not_stopped_yet() -> None:
    order = an_order()

    assert converge({}, {order.id: replace(held(order), kept=True)}).stop == ()


def test_who_is_gone_is_forgotten_when_the_server_knows_all_about_it() -> None:
    unheard, told = an_order(slot=0), an_order(slot=1)

    steps = converge({}, {unheard.id: held(unheard, gone=True), told.id: held(told, gone=True, told=True)})

    assert steps.forget == (told.id,)
