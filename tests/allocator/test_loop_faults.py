"""When a batch does not go as decided: others were quicker, a constraint fires, a reply is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
import pytest

from allocator import loop as loops
from allocator.decided import Decided
from allocator.ports import Begun
from allocator.truth import PostgresTruth
from store.errors import Fenced, OutcomeUnknown, ShortWrite, Unavailable
from store.wire import decode_delta, seats_channel
from store.words import Arrival, Want
from tests.allocator.house import (
    SLUG,
    Owner,
    best,
    check_laws,
    entry,
    open_event,
    owner_of,
    plan_of,
    seats,
    snapshot,
)
from tests.faults.proxy import CuttingProxy


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made


def requests(owner: Owner) -> list[tuple[str, str]]:
    """(buyer, outcome) of every request in the ledger, in order."""
    return [(row[3], row[4]) for row in owner.ledger() if row[1] == "request"]


def block(owner: Owner, *seat_numbers: int) -> None:
    owner.query_nothing("UPDATE seat SET state = 'blocked' WHERE seat_no = ANY (%s)", list(seat_numbers))


# ---- conditional writes that win fewer rows than decided ---------------------------------------


def test_a_seat_blocked_behind_the_allocators_back_is_answered_from_the_truth(owner):
    block(owner, 0)
    asked = [entry("ann", "r1", seats("A-1")), entry("bob", "r1", best(2)), entry("eve", "r1", seats("A-9"))]
    answers = owner.ask(*asked)
    assert [outcome for outcome, _ in answers] == ["taken", "held", "held"]
    assert '"seats":["A-5","A-6"]' in answers[1][1]
    assert requests(owner) == [("ann", "taken"), ("bob", "held"), ("eve", "held")]
    assert owner.query("SELECT state, hold_id FROM seat WHERE seat_no = 0") == [("blocked", None)]
    assert owner.loop.redone == 2


def test_gateways_read_the_map_anew_when_memory_was_for_a_fact_it_reflects_frees_nothing_more(
    owner, monkeypatch
):
    owner.ask(entry("ann", "r1", seats("A-2")))
    with owner.redis.pubsub(ignore_subscribe_messages=True) as listening:
        listening.subscribe(seats_channel(SLUG))
        listening.get_message(timeout=30)
        load = owner.truth.load

        def load_with_a_release_under_way() -> Any:
            owner.release("ann")
            monkeypatch.setattr(owner.truth, "load", load)
            return load()

        monkeypatch.setattr(owner.truth, "load", load_with_a_release_under_way)
        block(owner, 0)
        owner.ask(entry("bob", "r1", seats("A-1")))
        published = []
        while message := listening.get_message(timeout=0.5):
            published.append(decode_delta(message["data"]))
    assert owner.memory.hold_of[1] == 0, "it is free"
    assert not any(1 in delta.freed for delta in published), "and no batch says so"
    assert [delta.batch_no for delta in published] == [0, owner.loop.cursor.batch_no]


def test_places_blocked_behind_the_allocators_back_are_answered_from_the_truth_without_an_alert(
    owner, caplog
):
    owner.query_nothing("UPDATE area SET blocked = capacity - 1")
    asked = [entry("ann", "r1", Want(areas={"floor": 2})), entry("bob", "r1", Want(areas={"floor": 1}))]
    assert owner.outcomes(*asked) == ["sold_out", "held"]
    assert owner.query("SELECT held, blocked FROM area") == [(1, 19)]
    assert "ALERT" not in caplog.text


def test_memory_is_as_before_while_a_batch_is_decided_again(owner, monkeypatch):
    owner.ask(entry("ann", "r1", seats("A-1")))
    before = snapshot(owner.memory)
    seen: list[dict[str, Any]] = []
    begin = PostgresTruth.begin

    def look_first(truth: PostgresTruth, after_batch: int, arrival: Arrival) -> Begun:
        seen.append(snapshot(owner.memory))
        return begin(truth, after_batch, arrival)

    monkeypatch.setattr(PostgresTruth, "begin", look_first)
    block(owner, 5)
    assert owner.outcomes(entry("bob", "r1", seats("A-6")), entry("eve", "r1", seats("A-7"))) == [
        "taken",
        "held",
    ]
    assert seen[:2] == [before, before]
    assert len(seen) == 3


# ---- what cannot be decided ---------------------------------------------------------------------


def test_law_1_fires_as_an_alert_and_only_the_request_it_is_about_is_invalid(owner, caplog):
    owner.query_nothing("INSERT INTO hold_seat VALUES (%s, 2, 4711)", owner.event_id)
    caplog.set_level(logging.INFO)
    asked = [entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(5)]
    answers = owner.ask(*asked)
    assert [outcome for outcome, _ in answers] == ["held", "held", "invalid", "held", "held"]
    assert answers[2][1] == '{"reason":"undecidable"}'
    assert [buyer for buyer, _ in requests(owner)] == ["b0", "b1", "b2", "b3", "b4"]
    alerts = [record.message for record in caplog.records if "ALERT" in record.message]
    assert any("a constraint refused" in alert for alert in alerts)
    [invalid] = [alert for alert in alerts if "answered invalid" in alert]
    assert requests(owner)[2][0] == "b2" not in invalid, "a log names nobody"
    assert " r1 of " in invalid
    assert owner.query("SELECT state FROM seat WHERE seat_no = 2") == [("available",)]
    assert owner.query("SELECT hold_id FROM hold_seat WHERE seat_no = 2") == [(4711,)]
    rows = owner.ledger()
    owner.ask(asked[2])
    assert owner.ledger() == rows  # the same answer, however often it is asked for


def test_a_cursor_moves_only_when_all_of_what_was_read_is_decided(owner, monkeypatch):
    owner.query_nothing("INSERT INTO hold_seat VALUES (%s, 2, 4711)", owner.event_id)
    arrivals = owner.append([entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(4)])
    moved: list[str] = []
    commit = PostgresTruth.commit

    def look(truth: PostgresTruth) -> None:
        commit(truth)
        moved.append(owner.query("SELECT arrival FROM event_cursor")[0][0])

    monkeypatch.setattr(PostgresTruth, "commit", look)
    before = owner.loop.cursor.arrival
    owner.loop.turn()
    batches = [arrival for arrival in moved if arrival in (before, arrivals[-1])]
    assert batches == [before] * (len(batches) - 1) + [arrivals[-1]]


def test_an_owner_that_dies_in_the_middle_of_a_split_batch_leaves_each_request_decided_once(
    owner, redis_url, monkeypatch
):
    owner.query_nothing("INSERT INTO hold_seat VALUES (%s, 3, 4711)", owner.event_id)
    asked = [b"not json", *[entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(4)]]
    owner.append(asked)
    commit = PostgresTruth.commit

    def die(truth: PostgresTruth) -> None:
        commit(truth)
        if requests(owner):
            raise Unavailable

    monkeypatch.setattr(PostgresTruth, "commit", die)
    with pytest.raises(Unavailable):
        owner.loop.turn()
    monkeypatch.undo()
    decided = requests(owner)
    assert 0 < len(decided) < 5
    owner.close()
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    heir.loop.turn()
    assert requests(heir) == [
        ("", "invalid"),
        ("b0", "held"),
        ("b1", "held"),
        ("b2", "held"),
        ("b3", "invalid"),
    ]
    assert requests(heir)[: len(decided)] == decided
    heir.close()


@pytest.mark.parametrize("locked", ["event_cursor", "seat"])
def test_a_lock_that_is_not_had_in_time_says_nothing_against_a_request(owner, redis_url, locked):
    asked = entry("ann", "r1", seats("A-1"))
    owner.append([asked])
    owner.conn.execute("SET lock_timeout = '20ms'")
    owner.conn.commit()
    before = snapshot(owner.memory)
    with psycopg.connect(owner.database_url) as other:
        other.execute(f"SELECT 1 FROM {locked} FOR UPDATE")
        with pytest.raises(Unavailable):
            owner.loop.turn()
    assert requests(owner) == []
    assert snapshot(owner.memory) == before
    owner.close()
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    heir.loop.turn()
    assert requests(heir) == [("ann", "held")]
    heir.close()


# ---- replies that get lost -----------------------------------------------------------------------

COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
"""As it stands on the wire; the word alone is in comments of other statements."""


@pytest.fixture
def proxied(database_url: str, redis_url: str) -> Iterator[tuple[Owner, CuttingProxy]]:
    with CuttingProxy.before(database_url) as proxy:
        event = open_event(database_url, plan_of())
        made = Owner(database_url, redis_url, event, by_way_of=proxy.url(database_url))
        made.settle_down()
        yield made, proxy
        made.close()
        check_laws(database_url, event)


def backends(owner: Owner, pids: Sequence[int]) -> list[int]:
    return [
        pid for (pid,) in owner.query("SELECT pid FROM pg_stat_activity WHERE pid = ANY (%s)", list(pids))
    ]


@pytest.mark.faults
def test_a_commit_whose_reply_is_lost_was_true(proxied):
    owner, proxy = proxied
    proxy.cut_reply_to(COMMIT)
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
    assert proxy.was_cut.is_set()
    assert owner.loop.redone == 0
    assert owner.outcomes(entry("bob", "r1", seats("A-1"))) == ["taken"]
    assert requests(owner) == [("ann", "held"), ("bob", "taken")]


@pytest.mark.faults
@pytest.mark.parametrize("half_open", [False, True], ids=["closed", "half open"])
def test_a_commit_that_never_arrived_is_decided_again_when_its_backend_is_gone(proxied, half_open):
    owner, proxy = proxied
    before = owner.conn.info.backend_pid
    proxy.cut_before(COMMIT, half_open=half_open)
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
    assert proxy.was_cut.is_set()
    assert owner.loop.redone == 1
    assert backends(owner, [before]) == []
    assert requests(owner) == [("ann", "held")]


@pytest.mark.faults
def test_the_lease_names_the_new_backend_after_a_lost_reply(proxied):
    owner, proxy = proxied
    before = owner.query("SELECT backend_pid FROM lease")
    proxy.cut_reply_to(COMMIT)
    owner.ask(entry("ann", "r1", seats("A-1")))
    after = owner.query("SELECT backend_pid FROM lease")
    assert after != before
    assert backends(owner, after[0]) == list(after[0])


@pytest.mark.faults
def test_a_lost_reply_of_an_owner_that_lost_the_event_is_fenced(proxied):
    owner, proxy = proxied
    begun = owner.truth.begin(owner.memory.batch_no, owner.loop.cursor.arrival)
    owner.truth.write(owner.memory.batch_no + 1, begun, owner.loop.cursor.arrival, iter([Decided()]))
    proxy.cut_before(COMMIT)
    with pytest.raises(OutcomeUnknown):
        owner.truth.commit()
    owner.query_nothing("UPDATE event_cursor SET epoch = epoch + 1")
    with pytest.raises(Fenced):
        owner.truth.committed(owner.memory.batch_no + 1)


@pytest.mark.faults
@pytest.mark.parametrize(
    "word", [b"", b"{0}", b"COPY ledger", b"ann\tr1"], ids=["begin", "write", "copy", "rows"]
)
def test_a_connection_lost_inside_a_batch_leaves_nothing_and_the_next_owner_decides(proxied, redis_url, word):
    owner, proxy = proxied
    for n in range(7):  # as in a long sale: statements are prepared, only their names travel
        owner.ask(entry(f"before{n}", "r1", Want(areas={"floor": 1})))
    before = snapshot(owner.memory)
    rows = owner.ledger()
    arrivals = owner.append([entry("ann", "r1", seats("A-1"))])
    proxy.cut_before(word or arrivals[0].encode())
    with pytest.raises(Unavailable):
        owner.loop.turn()
    assert proxy.was_cut.is_set()
    assert owner.ledger() == rows
    assert snapshot(owner.memory) == before
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    heir.loop.turn()
    assert heir.ledger()[len(rows) :] == [(before["batch_no"] + 1, "request", arrivals[0], "ann", "held")]
    heir.close()


def test_a_commit_given_up_for_lost_that_comes_late_is_not_decided_again(owner, redis_url, monkeypatch):
    """Its backend could not be ended in time, and memory was loaded after it: its requests are known to be
    decided by whoever begins anew, not by the batch under way."""
    begin, late = PostgresTruth.begin, []

    def lose(truth: PostgresTruth) -> None:
        late.append(truth._conn)
        truth._conn = psycopg.connect(owner.database_url)
        raise OutcomeUnknown

    def begin_again(truth: PostgresTruth, after_batch: int, arrival: Arrival) -> Begun:
        if late and not late[0].closed:
            late[0].commit()
            late[0].close()
            raise ShortWrite("as when Postgres sees a deadlock")
        return begin(truth, after_batch, arrival)

    owner.append([entry("ann", "r1", seats("A-1"))])
    with monkeypatch.context() as patched:
        patched.setattr(PostgresTruth, "commit", lose)
        patched.setattr(PostgresTruth, "committed", lambda truth, batch_no: False)
        patched.setattr(PostgresTruth, "begin", begin_again)
        with pytest.raises(Fenced):
            owner.loop.turn()
    owner.close()
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    heir.loop.turn()
    assert requests(heir) == [("ann", "held")]
    heir.close()


def test_an_owner_plans_without_looking_at_the_size_of_a_batch_on_every_connection(owner):
    """What `test_hot_statements` looks at are those plans."""
    setting = "SHOW plan_cache_mode"
    assert owner.conn.execute(setting).fetchone() == ("force_generic_plan",)
    owner.conn.rollback()
    assert owner.truth.committed(owner.memory.batch_no)  # as after a lost reply, on a new connection
    assert owner.truth._conn.execute(setting).fetchone() == ("force_generic_plan",)


def test_a_conflict_decided_in_one_half_of_a_batch_is_not_decided_again_by_the_next_owner(
    owner, redis_url, monkeypatch
):
    """The halves commit one by one and the cursor moves with the last, so the heir reads them all again."""
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
    write, halves = PostgresTruth.write, []

    def halved(
        truth: PostgresTruth, batch_no: int, begun: Begun, arrival: Arrival, pieces: Iterator[Decided]
    ) -> Decided:
        decided = write(truth, batch_no, begun, arrival, pieces)
        if len(decided.rows) > 1:
            raise ShortWrite("as if it could not be written whole")
        halves.append(batch_no)
        if len(halves) > 1:
            raise Unavailable
        return decided

    with monkeypatch.context() as patched:
        patched.setattr(PostgresTruth, "write", halved)
        owner.append([entry("ann", "r1", seats("A-2")), entry("bob", "r1", seats("A-3"))])
        with pytest.raises(Unavailable):
            owner.loop.turn()
    heir = Owner(owner.database_url, redis_url, owner.event_id)
    heir.loop.turn()
    assert [row[3:] for row in heir.ledger() if row[1] == "request"] == [
        ("ann", "held"), ("ann", "conflict"), ("bob", "held"),
    ]  # fmt: skip
    heir.close()


def test_a_conflict_decided_from_what_was_gathered_is_not_decided_again_by_the_next_owner(
    owner, redis_url, monkeypatch
):
    """It is many batches, the cursor moves with the last of them, and the heir may gather less."""
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.02)
    assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
    owner.lose_all_of_redis()
    owner.loop.attend()
    others = [entry(buyer, "r1", best(1)) for buyer in ("bob", "carl", "dan", "eve")]
    owner.append([*others[:3], entry("ann", "r1", seats("A-2")), others[3]])
    owner.loop._batch_size_max = 2
    commit, parts = PostgresTruth.commit, []

    def die_after_two(truth: PostgresTruth) -> None:
        commit(truth)
        parts.append(truth)
        if len(parts) == 2:
            raise Unavailable

    with monkeypatch.context() as patched:
        patched.setattr(PostgresTruth, "commit", die_after_two)
        with pytest.raises(Unavailable):
            owner.loop.turn()
    monkeypatch.setattr(loops, "GATHER_SECONDS", 0.0)
    heir = Owner(owner.database_url, redis_url, owner.event_id, batch_size_max=2)
    for _ in range(3):
        heir.loop.turn()
    decided = [row[3:] for row in heir.ledger() if row[1] == "request"]
    assert decided.count(("ann", "conflict")) == 1
    assert [buyer for buyer, _ in decided] == ["ann", "bob", "carl", "dan", "ann", "eve"]
    heir.close()
