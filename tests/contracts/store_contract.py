"""What every store promises (`tenuto.store.base`), as stories. A store passes by giving the fixture `store`."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.store.records import (
    a_job,
    a_job_with_everything,
    a_node,
    adding,
    an_attempt,
    an_event,
    in_phase,
)

from tenuto.errors import InputInvalid
from tenuto.model.job import Job
from tenuto.model.node import NodeState
from tenuto.model.phase import ENDED, Phase
from tenuto.store.base import (
    EventQuery,
    JobOrder,
    JobQuery,
    Keyed,
    PageSession,
    Store,
    StoreUnavailable,
    Token,
    Tx,
)

HANG = 30.0
"""Seconds after which a test that waits for a thread gives up."""


def names(jobs: Iterable[Job]) -> list[str]:
    return [job.spec.name for job in jobs]


def add(store: Store, *jobs: Job) -> list[Job]:
    """Each in a transaction of its own."""
    return [store.write(adding(job)) for job in jobs]


def put(store: Store, job: Job) -> Job:
    def act(tx: Tx) -> Job:
        return tx.put_job(job)

    return store.write(act)


def together(*acts: Callable[[Tx], object]) -> Callable[[Tx], None]:
    """One act that does all of these."""

    def act(tx: Tx) -> None:
        for each in acts:
            each(tx)

    return act


def setting(**values: Any) -> Callable[[Tx], None]:
    """The act that sets these meta values."""

    def act(tx: Tx) -> None:
        for key, value in values.items():
            tx.set_meta(key, value)

    return act


def listed(store: Store, **query: Any) -> list[str]:
    return names(store.read(lambda tx: tx.jobs(JobQuery(**query))))


def event_ids(store: Store, **query: Any) -> list[int]:
    return [event.id for event in store.read(lambda tx: tx.events(EventQuery(**query)))]


class Mistake(Exception):
    """What an act raises when a test wants it to fail."""


def mistaken(act: Callable[[Tx], Any]) -> Callable[[Tx], None]:
    """The act, and then a mistake."""

    def both(tx: Tx) -> None:
        act(tx)
        raise Mistake

    return both


def at_once(store: Store, acts: list[Callable[[Tx], Any]]) -> list[Any]:
    """Write all of them while another act holds the store, so that they wait together; results or exceptions."""
    held, release = threading.Event(), threading.Event()

    def hold(_: Tx) -> None:
        held.set()
        assert release.wait(HANG)

    def try_to(act: Callable[[Tx], Any]) -> Any:
        called.release()
        try:
            return store.write(act)
        except (Mistake, StoreUnavailable) as problem:
            return problem

    called = threading.Semaphore(0)
    with ThreadPoolExecutor(len(acts) + 1) as threads:
        first = threads.submit(store.write, hold)
        assert held.wait(HANG)
        rest = [threads.submit(try_to, act) for act in acts]
        for _ in acts:
            assert called.acquire(timeout=HANG)
        release.set()
        first.result(HANG)
        return [done.result(HANG) for done in rest]


class StoreContract:
    """Every promise of the port."""

    # transactions

    def test_what_was_written_can_be_read(self, store: Store) -> None:
        job = store.write(lambda tx: tx.add_job(a_job()))
        assert store.read(lambda tx: tx.job(job.id)) == job

    def test_an_act_sees_its_own_writes(self, store: Store) -> None:
        def act(tx: Tx) -> list[str]:
            job = tx.add_job(a_job("새 작업"))
            tx.put_job(replace(job, phase=Phase.QUEUED))
            return [*names(tx.live_jobs()), *(job.phase for job in tx.jobs(JobQuery()))]

        assert store.write(act) == ["새 작업", "queued"]

    def test_an_act_that_raises_changes_nothing(self, store: Store) -> None:
        kept = a_job("kept", labels={"team": "vision"})
        add(store, kept)
        store.write(setting(epoch=1.5))
        store.write(lambda tx: tx.put_node(a_node()))
        store.write(lambda tx: tx.put_attempt(an_attempt(kept.id)))
        before = store.read(everything)

        def act(tx: Tx) -> None:
            tx.remove_job(kept.id)
            tx.add_job(a_job("new"))
            tx.put_node(replace(a_node(), state=NodeState.OFFLINE))
            tx.put_node(a_node("node-1"))
            tx.remove_node("node-0")
            tx.add_event(an_event())
            tx.set_meta("epoch", None)
            tx.set_meta("wake_at", 3)
            tx.add_token(Token(digest="d", user="u"))
            tx.remember_key(Keyed(key="k", fingerprint="f", result="r", at=1.0))

        with pytest.raises(Mistake):
            store.write(mistaken(act))
        assert store.read(everything) == before

    def test_numbers_given_to_an_act_that_raised_are_given_again(self, store: Store) -> None:
        def act(tx: Tx) -> None:
            tx.add_job(a_job())
            tx.add_event(an_event())
            tx.put_node(a_node())

        with pytest.raises(Mistake):
            store.write(mistaken(act))
        job = store.write(lambda tx: tx.add_job(a_job()))
        node = store.write(lambda tx: tx.put_node(a_node()))
        event = store.write(lambda tx: tx.add_event(an_event()))
        assert (job.number, node.number, event.id) == (1, 1, 1)

    def test_of_acts_that_wait_together_one_that_raises_undoes_only_itself(self, store: Store) -> None:
        acts: list[Callable[[Tx], Any]] = [adding(a_job(f"작업 {i}")) for i in range(9)]
        acts[2] = mistaken(acts[2])
        acts[5] = mistaken(acts[5])
        results = at_once(store, acts)
        assert [i for i, result in enumerate(results) if isinstance(result, Mistake)] == [2, 5]
        stored = [result for result in results if isinstance(result, Job)]
        assert store.read(lambda tx: tx.live_jobs()) == sorted(stored, key=lambda job: job.number)
        assert sorted(job.number for job in stored) == list(range(1, 8))
        assert event_ids(store) == list(range(1, 8))

    def test_acts_that_wait_together_run_one_after_the_other(self, store: Store) -> None:
        def count(tx: Tx) -> int:
            tx.set_meta("count", (tx.meta("count") or 0) + 1)
            counted = tx.meta("count")
            assert isinstance(counted, int)
            return counted

        assert sorted(at_once(store, [count] * 20)) == list(range(1, 21))

    def test_a_look_sees_one_state_while_others_write(self, store: Store) -> None:
        """Every act changes two values together; no look may find them different."""
        store.write(setting(left=0, right=0))
        stop = threading.Event()

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                store.write(setting(left=number, right=number))

        with ThreadPoolExecutor(1) as threads:
            writing = threads.submit(write)
            try:
                for _ in range(200):
                    left, revision, right = store.read(
                        lambda tx: (tx.meta("left"), tx.revision, tx.meta("right"))
                    )
                    assert left == right == revision - 1
            finally:
                stop.set()
            writing.result(HANG)

    def test_a_look_may_not_write(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="look"):
            store.read(lambda tx: tx.add_job(a_job()))
        assert store.read(lambda tx: tx.live_jobs()) == []

    def test_an_act_may_not_begin_another(self, store: Store) -> None:
        with pytest.raises(RuntimeError, match="another"):
            store.write(lambda _: store.write(adding(a_job())))
        assert store.revision() == 0

    def test_an_act_that_is_handed_over_is_done_without_anybody_waiting(self, store: Store) -> None:
        done = store.begin(adding(a_job("학습")))

        assert done.result(HANG).number == 1
        assert names(store.read(lambda tx: tx.live_jobs())) == ["학습"]

    def test_who_waits_for_an_act_no_longer_cannot_take_it_back(self, store: Store) -> None:
        assert not store.begin(adding(a_job("첫째"))).cancel()

        store.write(adding(a_job("둘째")))

        assert names(store.read(lambda tx: tx.live_jobs())) == ["첫째", "둘째"]

    def test_what_an_act_raises_is_told_to_whoever_asks_for_its_result(self, store: Store) -> None:
        def act(tx: Tx) -> None:
            tx.add_job(a_job())
            raise ValueError("no")

        with pytest.raises(ValueError, match="no"):
            store.begin(act).result(HANG)

        assert store.read(lambda tx: tx.live_jobs()) == []

    def test_a_closed_store_takes_nothing(self, store: Store) -> None:
        store.close()
        with pytest.raises(StoreUnavailable, match="closed"):
            store.write(lambda tx: tx.add_job(a_job()))
        with pytest.raises(StoreUnavailable, match="closed"):
            store.read(lambda tx: tx.live_jobs())
        store.close()

    # revisions

    def test_each_act_that_changes_something_has_the_next_revision(self, store: Store) -> None:
        assert store.revision() == 0
        first, second = add(store, a_job(), a_job())
        assert (first.revision, second.revision, store.revision()) == (1, 2, 2)
        assert store.read(lambda tx: tx.revision) == 2
        assert store.write(lambda tx: tx.revision) == 3

    def test_an_act_that_changes_nothing_takes_no_revision(self, store: Store) -> None:
        add(store, a_job())
        store.write(lambda tx: tx.set_meta("wake_at", {"at": 5.0}))
        store.write(lambda tx: tx.live_jobs())
        store.write(lambda tx: tx.set_meta("wake_at", {"at": 5.0}))
        store.write(lambda tx: tx.set_meta("nothing", None))
        store.write(together(lambda tx: tx.remove_job("nobody"), lambda tx: tx.remove_node("nowhere")))
        assert store.revision() == 2

    def test_all_records_of_one_act_carry_its_revision(self, store: Store) -> None:
        add(store, a_job())

        def act(tx: Tx) -> tuple[int, int, int, int]:
            job = tx.add_job(a_job())
            return tx.revision, job.revision, tx.put_node(a_node()).revision, tx.put_job(job).revision

        assert store.write(act) == (2, 2, 2, 2)
        assert [node.revision for node in store.read(lambda tx: tx.nodes())] == [2]

    def test_what_changed_since_a_revision(self, store: Store) -> None:
        first, second, third = add(store, a_job("하나"), a_job("둘"), a_job("셋"))
        seen = store.revision()
        put(store, in_phase(third, Phase.CANCELLED))
        put(store, in_phase(first, Phase.QUEUED))
        changed = store.read(lambda tx: tx.jobs_since(seen))
        assert [(job.spec.name, job.phase) for job in changed] == [("하나", "queued"), ("셋", "cancelled")]
        assert names(store.read(lambda tx: tx.jobs_since(0))) == ["하나", "둘", "셋"]
        assert store.read(lambda tx: tx.jobs_since(store_revision(tx))) == []
        assert second.revision <= seen

    def test_what_was_removed_since_a_revision(self, store: Store) -> None:
        first, second, third = add(store, a_job(), a_job(), a_job())
        store.write(lambda tx: tx.remove_job(first.id))
        seen = store.revision()
        store.write(together(lambda tx: tx.remove_job(second.id), lambda tx: tx.remove_job(third.id)))
        assert set(store.read(lambda tx: tx.removed_since(seen))) == {second.id, third.id}
        assert len(store.read(lambda tx: tx.removed_since(0))) == 3
        assert store.read(lambda tx: tx.jobs_since(0)) == []

    # jobs

    def test_every_field_of_a_job_comes_back_as_it_was(self, store: Store) -> None:
        job = a_job_with_everything()
        add(store, job)
        expected = replace(job, number=1, revision=1)
        assert store.read(lambda tx: tx.job(job.id)) == expected
        assert repr(store.read(lambda tx: tx.job(job.id))) == repr(expected)

    def test_numbers_ascend_and_are_not_given_again(self, store: Store) -> None:
        first, second = add(store, replace(a_job(), number=77, revision=77), a_job())
        store.write(lambda tx: tx.remove_job(second.id))
        (third,) = add(store, a_job())
        assert [first.number, second.number, third.number] == [1, 2, 3]

    def test_an_id_is_taken_once(self, store: Store) -> None:
        (job,) = add(store, a_job("first"))
        with pytest.raises(ValueError, match=job.id):
            store.write(adding(replace(a_job("second"), id=job.id)))
        assert store.read(lambda tx: tx.live_jobs()) == [job]
        assert event_ids(store) == [1]

    def test_a_job_that_is_not_there_cannot_be_replaced(self, store: Store) -> None:
        with pytest.raises(KeyError):
            put(store, a_job())
        assert store.revision() == 0

    def test_a_replaced_job_keeps_its_number(self, store: Store) -> None:
        add(store, a_job())
        (job,) = add(store, a_job())
        stored = put(store, replace(job, number=9, phase=Phase.QUEUED))
        assert (stored.number, stored.revision) == (2, 3)
        assert store.read(lambda tx: tx.job(job.id)) == stored

    def test_live_jobs_are_those_that_have_not_ended(self, store: Store) -> None:
        jobs = add(store, *(a_job(phase.value) for phase in Phase))
        for job in reversed(jobs):
            put(store, in_phase(job, Phase(job.spec.name)))
        assert names(store.read(lambda tx: tx.live_jobs())) == [p.value for p in Phase if p not in ENDED]

    def test_ended_jobs_are_read_in_the_order_of_their_ends(self, store: Store) -> None:
        late, early, same, runs = add(store, *(a_job(name) for name in ("늦은", "이른", "같은", "아직")))
        put(store, replace(late, phase=Phase.FAILED, ended_at=30.5))
        put(store, replace(early, phase=Phase.SUCCEEDED, ended_at=10.5))
        put(store, replace(same, phase=Phase.DECLINED, ended_at=30.5))
        put(
            store, replace(runs, phase=Phase.RUNNING, ended_at=20.5)
        )  # done, and its workers are not gone yet

        def ended(after: tuple[float, int], limit: int = 10) -> list[str]:
            return names(store.read(lambda tx: tx.ended_jobs(after, limit)))

        assert ended((0.0, 0)) == ["이른", "늦은", "같은"]
        assert ended((0.0, 0), limit=2) == ["이른", "늦은"]
        assert ended((30.5, late.number)) == ["같은"]
        assert ended((10.5, 0)) == ["이른", "늦은", "같은"]
        assert ended((30.5, same.number)) == []
        last = names(store.read(lambda tx: tx.ended_jobs((0.0, 0), 2, last=True)))
        assert last == ["늦은", "같은"]

    def test_jobs_are_counted_by_phase(self, store: Store) -> None:
        add(store, a_job(), a_job(), a_job(phase=Phase.FAILED))
        counts = store.read(lambda tx: tx.count_jobs())
        assert set(counts) == set(Phase)
        assert {phase: n for phase, n in counts.items() if n} == {Phase.SUBMITTED: 2, Phase.FAILED: 1}

    def test_successors_are_the_jobs_that_wait_for_one(self, store: Store) -> None:
        (first,) = add(store, a_job("first"))
        add(store, a_job("둘째", after=first.id), a_job("alone"), a_job("셋째", after=first.id))
        assert names(store.read(lambda tx: tx.successors(first.id))) == ["둘째", "셋째"]
        assert store.read(lambda tx: tx.successors("nobody")) == []

    def test_a_removed_job_leaves_only_its_events(self, store: Store) -> None:
        (job,) = add(store, a_job(labels={"k": "v"}))
        store.write(lambda tx: tx.put_attempt(an_attempt(job.id)))
        store.write(lambda tx: tx.remove_job(job.id))
        assert store.read(lambda tx: tx.job(job.id)) is None
        assert store.read(lambda tx: tx.attempts(job.id)) == []
        assert listed(store, labels={"k": "v"}) == []
        assert event_ids(store, job=job.id) == [1]

    # lists

    def test_lists_are_newest_first_and_paged_by_number(self, store: Store) -> None:
        add(store, *(a_job(f"job {i}") for i in range(1, 8)))
        page = store.read(lambda tx: tx.jobs(JobQuery(limit=3)))
        assert names(page) == ["job 7", "job 6", "job 5"]
        assert listed(store, before=page[-1].number, limit=3) == ["job 4", "job 3", "job 2"]
        assert listed(store, before=2, limit=3) == ["job 1"]
        assert listed(store, before=1, limit=3) == []

    def test_the_second_page_of_a_thousand_finished_jobs(self, store: Store) -> None:
        def act(tx: Tx) -> None:
            for i in range(1, 1201):
                tx.add_job(a_job(f"job {i}", phase=Phase.SUCCEEDED if i % 6 else Phase.RUNNING))

        store.write(act)
        first = store.read(lambda tx: tx.jobs(JobQuery(phases=frozenset({Phase.SUCCEEDED}))))
        second = listed(store, phases=frozenset({Phase.SUCCEEDED}), before=first[-1].number)
        finished = [f"job {i}" for i in range(1200, 0, -1) if i % 6]
        assert names(first) == finished[:50]
        assert second == finished[50:100]

    def test_lists_are_sorted_as_asked_with_equal_ones_newest_first(self, store: Store) -> None:
        add(
            store,
            a_job("żółw", owner="王芳", phase=Phase.SUCCEEDED, ended_at=30.0),
            a_job("Apple", owner="Łukasz", phase=Phase.QUEUED),
            a_job("banana", owner="anna", phase=Phase.RUNNING),
            a_job("apple", owner="anna", phase=Phase.FAILED, ended_at=10.0),
            a_job("학습", owner="anna", phase=Phase.DECLINED),
        )
        by = JobOrder
        assert listed(store, order=by.SUBMITTED, descending=False) == [
            *("żółw", "Apple", "banana", "apple", "학습")
        ]
        assert listed(store, order=by.NAME, descending=False) == ["apple", "Apple", "banana", "żółw", "학습"]
        assert listed(store, order=by.NAME) == ["학습", "żółw", "banana", "apple", "Apple"]
        assert listed(store, order=by.OWNER, descending=False) == ["학습", "apple", "banana", "Apple", "żółw"]
        assert listed(store, order=by.STATE, descending=False) == ["banana", "Apple", "학습", "apple", "żółw"]
        assert listed(store, order=by.STATE) == ["żółw", "apple", "학습", "Apple", "banana"]
        assert listed(store, order=by.ENDED) == ["żółw", "apple", "학습", "banana", "Apple"]
        assert listed(store, order=by.ENDED, descending=False) == ["apple", "żółw", "학습", "banana", "Apple"]

    def test_pages_by_place_fit_together_in_every_order(self, store: Store) -> None:
        label = {"팀": "비전"}
        add(
            store,
            *(
                a_job(f"job {i % 3}", owner=f"o{i % 2}", labels=label if i % 4 else {}, ended_at=None)
                for i in range(23)
            ),
        )
        for order in JobOrder:
            for descending in (True, False):
                sorting = {"order": order, "descending": descending, "labels": label}
                whole = store.read(lambda tx, q=sorting: tx.jobs(JobQuery(**q)))  # type: ignore[misc]
                parts = [
                    job
                    for skip in range(0, 20, 5)
                    for job in store.read(
                        lambda tx, q=sorting, s=skip: tx.jobs(JobQuery(**q, skip=s, limit=5))  # type: ignore[misc]
                    )
                ]
                assert [job.number for job in parts] == [job.number for job in whole]
                assert len(whole) == 17

    def test_the_jobs_of_a_query_are_counted_whatever_its_page(self, store: Store) -> None:
        assert store.read(lambda tx: tx.count_meant(JobQuery())) == 0
        add(
            store,
            *(a_job(f"훈련 {i}", labels={"i": str(i % 2)}, phase=Phase.RUNNING) for i in range(7)),
            a_job("다른", labels={"i": "0", "j": "1"}, owner="王芳"),
        )

        def counted(**query: Any) -> int:
            return store.read(lambda tx: tx.count_meant(JobQuery(**query)))

        assert counted(limit=2, skip=3) == 8
        assert counted(text="훈") == 7
        assert counted(labels={"i": "0"}) == 5
        assert counted(labels={"i": "0", "j": "1"}) == 1
        assert counted(phases=frozenset({Phase.RUNNING}), labels={"i": "1"}) == 3
        assert counted(owner="王芳") == 1
        assert counted(before=4) == 3

    def test_lists_can_be_narrowed_in_every_way_at_once(self, store: Store) -> None:
        vision = {"팀": "비전", "stage": "prod"}
        wanted = a_job("훈련", labels=vision, owner="王芳", phase=Phase.RUNNING)
        add(
            store,
            wanted,
            a_job("훈련", labels=vision, owner="Łukasz", phase=Phase.RUNNING),
            a_job("훈련", labels=vision, owner="王芳", phase=Phase.FAILED),
            a_job("훈련", labels={"팀": "비전"}, owner="王芳", phase=Phase.RUNNING),
            a_job("다른", labels=vision, owner="王芳", phase=Phase.RUNNING),
        )
        query = JobQuery(
            phases=frozenset({Phase.RUNNING, Phase.QUEUED}),
            owner="王芳",
            labels=vision,
            name="훈련",
            text="훈",
        )
        assert [job.id for job in store.read(lambda tx: tx.jobs(query))] == [wanted.id]

    def test_labels_that_were_changed_are_found_as_they_are(self, store: Store) -> None:
        job, _ = add(
            store, a_job("one", labels={"team": "żółw", "old": "1"}), a_job("two", labels={"team": "żółw"})
        )
        changed = replace(job, spec=replace(job.spec, labels={"team": "żaba"}))
        put(store, changed)
        assert listed(store, labels={"team": "żaba"}) == ["one"]
        assert listed(store, labels={"team": "żółw"}) == ["two"]
        assert listed(store, labels={"old": "1"}) == []
        put(store, replace(changed, phase=Phase.QUEUED))
        assert listed(store, labels={"team": "żaba"}) == ["one"]

    def test_text_finds_parts_of_names_whatever_their_case(self, store: Store) -> None:
        add(store, a_job("ŻÓŁW-Training"), a_job("한국어 모델"), a_job("100%_done"), a_job("1000 done"))
        assert listed(store, text="żółw") == ["ŻÓŁW-Training"]
        assert listed(store, text="TRAIN") == ["ŻÓŁW-Training"]
        assert listed(store, text="국어") == ["한국어 모델"]
        assert listed(store, text="0%_d") == ["100%_done"]
        assert listed(store, text="o'; DROP TABLE jobs; --") == []

    def test_text_finds_the_beginning_of_an_id(self, store: Store) -> None:
        add(store, replace(a_job("one"), id="abcd1234"), replace(a_job("two"), id="12abcd"))
        assert listed(store, text="ABCD") == ["one"]
        assert listed(store, text="1234") == []

    def test_a_name_is_found_in_every_unicode_form(self, store: Store) -> None:
        composed, taken_apart = (unicodedata.normalize(form, "한국 żółw") for form in ("NFC", "NFD"))
        add(store, a_job(composed), a_job(taken_apart), a_job("żółw"))
        for name in (composed, taken_apart):
            assert listed(store, name=name) == [taken_apart, composed]
            assert listed(store, text=name.upper()) == [taken_apart, composed]

    # attempts

    def test_attempts_are_kept_and_replaced_by_worker(self, store: Store) -> None:
        ps, other = an_attempt("j", 1, 0, role="ps"), an_attempt("other", 1, 0)
        first, second, later = (
            an_attempt("j", 1, 0),
            an_attempt("j", 1, 1, pid=7, slot=3),
            an_attempt("j", 2, 0),
        )

        def act(tx: Tx) -> None:
            for attempt in (later, second, ps, first, other):
                tx.put_attempt(attempt)

        store.write(act)
        ended = replace(second, ended_at=9.5, exit_code=137, reason="out_of_memory", message="넘침")
        store.write(lambda tx: tx.put_attempt(ended))
        assert store.read(lambda tx: tx.attempts("j")) == [ps, first, ended, later]

    # nodes

    def test_nodes_keep_the_order_in_which_they_joined(self, store: Store) -> None:
        store.write(lambda tx: [tx.put_node(a_node(name)) for name in ("zebra", "노드", "alpha")])
        again = store.write(lambda tx: tx.put_node(a_node("노드", state=NodeState.DRAINING, heard_at=5.5)))
        assert (again.number, again.revision) == (2, 2)
        nodes = store.read(lambda tx: tx.nodes())
        assert [(node.name, node.number) for node in nodes] == [("zebra", 1), ("노드", 2), ("alpha", 3)]
        assert nodes[1] == again == store.read(lambda tx: tx.node("노드"))

    def test_the_number_of_a_removed_node_is_not_given_again(self, store: Store) -> None:
        store.write(lambda tx: tx.put_node(a_node("one")))
        store.write(lambda tx: tx.remove_node("one"))
        assert store.read(lambda tx: tx.node("one")) is None
        assert store.write(lambda tx: tx.put_node(a_node("one"))).number == 2

    # events

    def test_events_come_back_as_they_were(self, store: Store) -> None:
        event = an_event(
            job="j", node="n", before="running", after="대기", reason="r", data={"a": [1, {"b": 2.5}]}
        )
        stored = store.write(lambda tx: tx.add_event(event))
        assert stored == replace(event, id=1)
        assert store.read(lambda tx: tx.events(EventQuery())) == [stored]

    def test_events_are_listed_by_job_node_and_kind(self, store: Store) -> None:
        told = [("a", "", "phase"), ("b", "n", "phase"), ("a", "n", "worker"), ("a", "", "phase")]
        store.write(lambda tx: [tx.add_event(an_event(kind, job=job, node=node)) for job, node, kind in told])
        assert event_ids(store, job="a") == [1, 3, 4]
        assert event_ids(store, node="n") == [2, 3]
        assert event_ids(store, job="a", kind="phase") == [1, 4]

    def test_events_are_paged_from_either_end(self, store: Store) -> None:
        store.write(lambda tx: [tx.add_event(an_event(job="ab"[i % 2])) for i in range(10)])
        assert event_ids(store, limit=3) == [1, 2, 3]
        assert event_ids(store, after=3, limit=3) == [4, 5, 6]
        assert event_ids(store, limit=3, last=True) == [8, 9, 10]
        assert event_ids(store, job="a", limit=2, last=True) == [7, 9]
        assert event_ids(store, after=9, limit=3, last=True) == [10]
        assert event_ids(store, after=10) == []
        assert event_ids(store, before=8, limit=3, last=True) == [5, 6, 7]
        assert event_ids(store, after=2, before=5) == [3, 4]
        assert event_ids(store, before=1, last=True) == []

    def test_events_have_no_gaps_however_many_write(self, store: Store) -> None:
        def submit_some(thread: int) -> None:
            for i in range(12):
                act = adding(a_job(f"{thread} {i}"))
                if i % 4 == 3:
                    with pytest.raises(Mistake):
                        store.write(mistaken(act))
                else:
                    store.write(act)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(submit_some, range(8), timeout=HANG))
        assert event_ids(store, limit=1000) == list(range(1, 8 * 9 + 1))
        jobs = store.read(lambda tx: tx.live_jobs())
        assert [job.number for job in jobs] == list(range(1, 8 * 9 + 1))
        assert sorted(job.revision for job in jobs) == list(range(1, store.revision() + 1))

    def test_the_oldest_events_are_removed_and_their_ids_never_given_again(self, store: Store) -> None:
        store.write(lambda tx: [tx.add_event(an_event(job="ab"[i % 2])) for i in range(10)])
        assert store.write(lambda tx: tx.remove_events(8, 5)) == 5
        assert event_ids(store) == [6, 7, 8, 9, 10]
        assert store.write(lambda tx: tx.remove_events(8, 5)) == 2
        assert event_ids(store) == [8, 9, 10]
        assert store.read(lambda tx: tx.oldest_event()) == 8
        assert event_ids(store, after=3, limit=2) == [8, 9]
        assert store.write(lambda tx: tx.add_event(an_event())).id == 11

    def test_the_newest_event_stays_whatever_is_removed(self, store: Store) -> None:
        assert store.read(lambda tx: tx.oldest_event()) == 1
        store.write(lambda tx: [tx.add_event(an_event()) for _ in range(3)])
        assert store.write(lambda tx: tx.remove_events(100, 100)) == 2
        assert event_ids(store) == [3]

    def test_events_of_one_job_are_counted_and_removed_alone(self, store: Store) -> None:
        for job in ("a", "b", "a", "", "a"):
            store.write(lambda tx, job=job: tx.add_event(an_event(job=job)))  # type: ignore[misc]
        assert store.read(lambda tx: dict(tx.count_events())) == {"a": 3, "b": 1, "": 1}
        assert store.write(lambda tx: tx.remove_events(100, 2, job="a")) == 2
        assert event_ids(store) == [2, 4, 5]
        assert store.write(lambda tx: tx.remove_events(100, 2, job="")) == 1
        assert event_ids(store) == [2, 5]

    def test_events_that_an_act_removed_are_there_again_if_it_raises(self, store: Store) -> None:
        store.write(lambda tx: [tx.add_event(an_event()) for _ in range(3)])
        with pytest.raises(Mistake):
            store.write(
                mistaken(together(lambda tx: tx.remove_events(3, 9), lambda tx: tx.add_event(an_event())))
            )
        assert event_ids(store) == [1, 2, 3]
        assert store.write(lambda tx: tx.add_event(an_event())).id == 4

    def test_to_remove_what_is_not_there_changes_nothing(self, store: Store) -> None:
        store.write(lambda tx: tx.add_event(an_event(job="a")))
        before = store.revision()
        assert store.write(lambda tx: tx.remove_events(1, 10)) == 0
        assert store.write(lambda tx: tx.remove_events(9, 10, job="b")) == 0
        assert store.write(lambda tx: tx.remove_keys(["k"], 9.0)) == 0
        assert store.revision() == before

    # everything else

    def test_meta_values_come_back_as_json_does(self, store: Store) -> None:
        value = {"이름": ["żółw", 1, 2.5, None, True, {"inf": float("-inf")}]}
        store.write(lambda tx: tx.set_meta("memory", value))
        assert store.read(lambda tx: tx.meta("memory")) == value
        value["이름"].append("later")
        store.read(lambda tx: tx.meta("memory"))["이름"].append("elsewhere")
        assert len(store.read(lambda tx: tx.meta("memory"))["이름"]) == 6
        store.write(lambda tx: tx.set_meta("memory", None))
        assert store.read(lambda tx: tx.meta("memory")) is None

    def test_tokens_are_found_by_their_digest(self, store: Store) -> None:
        user, node = (
            Token(digest="b" * 64, user="김", created_at=1.5),
            Token(digest="a" * 64, user="n", kind="node"),
        )
        store.write(together(lambda tx: tx.add_token(user), lambda tx: tx.add_token(node)))
        assert store.read(lambda tx: tx.token(user.digest)) == user
        assert store.read(lambda tx: tx.token("c" * 64)) is None
        store.write(lambda tx: tx.add_token(replace(user, user="박")))
        assert [token.user for token in store.read(lambda tx: tx.tokens())] == ["n", "박"]

    def test_a_token_comes_back_with_everything_that_is_known_of_it(self, store: Store) -> None:
        whole = Token(
            digest="d" * 64,
            user="nodes",
            kind="node",
            created_at=1.5,
            name="책상",
            node="węzeł-1",
            used_at=2.5,
            revoked_at=3.5,
            expires_at=4.5,
            approved=False,
            rotate=True,
            replaces="e" * 64,
            released=True,
        )
        store.write(lambda tx: tx.add_token(whole))
        assert store.read(lambda tx: tx.token(whole.digest)) == whole
        store.write(lambda tx: tx.remove_token(whole.digest))
        assert store.read(lambda tx: tx.tokens()) == []

    def test_a_page_session_ends_by_its_id_its_token_or_its_time(self, store: Store) -> None:
        sessions = [
            PageSession(id=f"s{n}", token="t1" if n < 2 else "t2", until=10.0 * n) for n in range(1, 5)
        ]
        store.write(together(*(partial(_add_session, session) for session in sessions)))

        def left() -> list[str]:
            return [s.id for s in sessions if store.read(lambda tx: tx.page_session(s.id)) == s]  # noqa: B023

        assert left() == ["s1", "s2", "s3", "s4"]
        store.write(lambda tx: tx.end_page_sessions(id="s3"))
        assert left() == ["s1", "s2", "s4"]
        store.write(lambda tx: tx.end_page_sessions(token="t1"))
        assert left() == ["s2", "s4"]
        store.write(lambda tx: tx.end_page_sessions(until=20.0))
        assert left() == ["s4"]
        store.write(lambda tx: tx.add_token(Token(digest="t2", user="u")))
        store.write(lambda tx: tx.remove_token("t2"))
        assert left() == []

    def test_an_idempotency_key_remembers_what_it_led_to(self, store: Store) -> None:
        keyed = Keyed(key="jinho:키 1", fingerprint="f" * 64, result="j1", at=1_700_000_000.75)
        assert store.read(lambda tx: tx.keyed(keyed.key)) is None
        store.write(lambda tx: tx.remember_key(keyed))
        assert store.read(lambda tx: tx.keyed(keyed.key)) == keyed
        store.write(lambda tx: tx.remember_key(replace(keyed, result="j2")))
        found = store.read(lambda tx: tx.keyed(keyed.key))
        assert found is not None
        assert found.result == "j2"

    def test_a_key_and_its_job_are_stored_together_or_not_at_all(self, store: Store) -> None:
        def submit(tx: Tx) -> str:
            known = tx.keyed("jinho:1")
            if known is not None:
                return known.result
            job = tx.add_job(a_job())
            tx.remember_key(Keyed(key="jinho:1", fingerprint="f", result=job.id, at=1.0))
            return job.id

        assert len(set(at_once(store, [submit] * 10))) == 1
        assert len(store.read(lambda tx: tx.live_jobs())) == 1

    def test_old_keys_are_forgotten_unless_they_were_used_again(self, store: Store) -> None:
        for number in range(4):
            keyed = Keyed(key=f"kim:{number}", fingerprint="f", result="j", at=float(number))
            store.write(lambda tx, keyed=keyed: tx.remember_key(keyed))  # type: ignore[misc]
        old = store.read(lambda tx: tx.old_keys(2.5, 10))
        assert sorted(old) == ["kim:0", "kim:1", "kim:2"]
        assert len(store.read(lambda tx: tx.old_keys(2.5, 2))) == 2
        store.write(lambda tx: tx.remember_key(Keyed(key="kim:1", fingerprint="f", result="j", at=9.0)))
        assert store.write(lambda tx: tx.remove_keys(old, 2.5)) == 2
        assert store.read(lambda tx: sorted(tx.old_keys(10.0, 10))) == ["kim:1", "kim:3"]

    # being told

    def test_listeners_hear_of_every_change_and_of_nothing_else(self, store: Store) -> None:
        heard: list[int] = []
        news = threading.Condition()

        def ring(revision: int) -> None:
            with news:
                heard.append(revision)
                news.notify_all()

        end = store.listen(ring)
        add(store, a_job())
        store.write(lambda tx: tx.live_jobs())
        with pytest.raises(Mistake):
            store.write(mistaken(adding(a_job())))
        add(store, a_job())
        with news:
            assert news.wait_for(lambda: heard and heard[-1] == 2, HANG)
        end()
        add(store, a_job())
        assert heard == [1, 2]

    def test_a_listener_that_fails_harms_nobody(self, store: Store, caplog: pytest.LogCaptureFixture) -> None:
        def ring(_: int) -> None:
            raise Mistake

        heard = threading.Event()
        store.listen(ring)
        store.listen(lambda _: heard.set())
        add(store, a_job())
        assert heard.wait(HANG)
        add(store, a_job())
        assert "a listener of the store failed" in caplog.text

    # what could not be read back

    @pytest.mark.parametrize("levels", [201, 250, 400])
    def test_values_that_could_not_be_read_back_are_not_stored(self, store: Store, levels: int) -> None:
        deep: Any = 1
        for _ in range(levels):
            deep = [deep]
        job = a_job()
        stored = store.write(adding(job))
        before = store.revision()

        for act in (
            adding(replace(a_job(), spec=replace(job.spec, params={"x": deep}))),
            lambda tx: tx.put_job(replace(stored, spec=replace(job.spec, params={"x": deep}))),
            lambda tx: tx.add_event(an_event(data={"x": deep})),
            lambda tx: tx.add_event(an_event(data={"x": "\ud800"})),
            setting(deep=deep),
            setting(half="\ud800"),
        ):
            with pytest.raises(InputInvalid):
                store.write(act)

        assert store.revision() == before
        assert store.read(lambda tx: tx.live_jobs()) == [stored]
        assert event_ids(store) == [1]

    def test_a_job_that_can_be_read_has_no_problem(self, store: Store) -> None:
        job = store.write(adding(a_job()))

        assert store.read(lambda tx: (tx.unreadable_job(job.id), tx.unreadable_node("none"))) == (None, None)


def store_revision(tx: Tx) -> int:
    return tx.revision


def everything(tx: Tx) -> list[Any]:
    """All that a store holds, as far as the contract's tests fill it."""
    jobs = tx.jobs(JobQuery(limit=1000))
    return [
        tx.revision,
        jobs,
        tx.jobs(JobQuery(labels={"team": "vision"})),
        [tx.attempts(job.id) for job in jobs],
        tx.removed_since(0),
        tx.nodes(),
        tx.events(EventQuery()),
        [tx.meta(key) for key in ("epoch", "wake_at")],
        tx.tokens(),
        tx.keyed("k"),
    ]


def _add_session(session: PageSession, tx: Tx) -> None:
    tx.add_page_session(session)
