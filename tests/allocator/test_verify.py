"""`verify`: a good ledger decides the same again; a changed one is named where it was changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from allocator.replay import Batch, Finding, verify
from store.ledger import GENESIS, batch_hash, row_digest
from store.words import EventState, Want
from tests.allocator.house import Owner, best, change_event, check_laws, entry, owner_of, plan_of, seats
from tests.allocator.sale import Sale


class Kept(psycopg.Connection[Any]):
    """A connection that commits nothing, so what a test changed is undone by `rollback`."""

    def commit(self) -> None:
        pass


def findings(conn: psycopg.Connection[Any], event_id: int) -> list[Finding]:
    return [found for found in verify(conn, event_id) if isinstance(found, Finding)]


RUNS_OUT_SOON = {"hold_ttl_seconds": 1, "extension_seconds": 1, "offer_ttl_seconds": 1}


@pytest.mark.parametrize("seed", [11, 12])
def test_a_random_sale_is_decided_the_same_again(database_url, redis_url, seed):
    plan = plan_of(rows=3, seats_a_row=6, standing=9)
    with owner_of(database_url, redis_url, plan, **RUNS_OUT_SOON) as owner:
        sale = Sale(owner, seed)
        for _ in sale.steps(30):
            pass
        sale.run_out()
        assert {"expired", "offer"} <= {row[1] for row in owner.ledger()}
        with psycopg.connect(database_url) as conn:
            steps = list(verify(conn, owner.event_id))
        assert [step for step in steps if isinstance(step, Finding)] == []
        assert [step.batch_no for step in steps if isinstance(step, Batch)] == list(
            range(1, owner.memory.batch_no + 1)
        )
        check_laws(database_url, owner.event_id)


@pytest.fixture
def story(database_url: str, redis_url: str) -> Iterator[Owner]:
    """Batches 2, 3, 4: three requests each; 5: a release, a conflict and one who gets the seat."""
    with owner_of(database_url, redis_url) as owner:
        for n in range(3):
            owner.ask(*[entry(f"b{n}{i}", "r1", best(1)) for i in range(3)])
        owner.release("b00")
        owner.ask(entry("b01", "r1", best(2)), entry("late", "r1", seats("A-6")))
        yield owner


TAMPERED: dict[str, tuple[str, int, int | None]] = {
    "a buyer's name is changed": (
        "UPDATE ledger SET buyer = 'mallory' WHERE batch_no = 3 AND position = 1",
        3,
        1,
    ),
    "a result is changed": (
        """UPDATE ledger SET result = regexp_replace(result::text, 'A-[0-9]+', 'A-99')::json
            WHERE batch_no = 3 AND position = 1""",
        3,
        1,
    ),
    "an outcome is changed": (
        "UPDATE ledger SET outcome = 'sold_out' WHERE batch_no = 4 AND position = 2",
        4,
        2,
    ),
    "a fact is changed": (
        """UPDATE ledger SET input = '{"fact":1,"hold":null,"body":null}'
            WHERE batch_no = 5 AND position = 0""",
        5,
        0,
    ),
    "an arrival is changed": ("UPDATE ledger SET arrival = '1-1' WHERE batch_no = 2 AND position = 2", 2, 2),
    "a row is deleted": ("DELETE FROM ledger WHERE batch_no = 3 AND position = 1", 3, 1),
    "the last row of a batch is deleted": ("DELETE FROM ledger WHERE batch_no = 3 AND position = 2", 3, 2),
    "a row is inserted at the end of a batch": (
        "INSERT INTO ledger VALUES (1, 3, 3, 'request', '1-1', 'mallory', 'r1', '{}', 'held', '{}')",
        3,
        3,
    ),
    "a row is inserted before the first": (
        "INSERT INTO ledger VALUES (1, 3, -1, 'request', '1-1', 'mallory', 'r1', '{}', 'held', '{}')",
        3,
        0,
    ),
    "a row is inserted after the last batch": (
        "INSERT INTO ledger VALUES (1, 77, 4, 'request', '1-1', 'mallory', 'r1', '{}', 'held', '{}')",
        77,
        4,
    ),
    "a row is moved": ("UPDATE ledger SET position = 7 WHERE batch_no = 3 AND position = 2", 3, 2),
    "two rows are swapped": (
        """UPDATE ledger SET position = CASE position WHEN 0 THEN 1001 ELSE 1000 END
            WHERE batch_no = 3 AND position IN (0, 1);
           UPDATE ledger SET position = position - 1000 WHERE batch_no = 3 AND position >= 1000""",
        3,
        0,
    ),
    "a batch is deleted with its rows": (
        "DELETE FROM ledger WHERE batch_no = 3; DELETE FROM ledger_batch WHERE batch_no = 3",
        3,
        None,
    ),
    "the first batch is deleted": (
        "DELETE FROM ledger WHERE batch_no = 1; DELETE FROM ledger_batch WHERE batch_no = 1",
        1,
        None,
    ),
    "the end is cut off": (
        "DELETE FROM ledger WHERE batch_no >= 4; DELETE FROM ledger_batch WHERE batch_no >= 4",
        4,
        None,
    ),
    "a batch's time is changed": (
        "UPDATE ledger_batch SET batch_time = batch_time + interval '1 microsecond' WHERE batch_no = 3",
        3,
        None,
    ),
    "a batch's owner is changed": ("UPDATE ledger_batch SET epoch = 99 WHERE batch_no = 3", 3, None),
    "a cursor is changed": ("UPDATE ledger_batch SET arrival = '1-1' WHERE batch_no = 3", 3, None),
    "a hash is changed": (
        "UPDATE ledger_batch SET hash = sha256(hash) WHERE batch_no = 3",
        3,
        None,
    ),
}


def test_whatever_is_changed_is_named_at_its_batch_and_position(story, subtests):
    with Kept.connect(story.database_url) as conn:
        assert findings(conn, story.event_id) == []
        for what, (change, batch_no, position) in TAMPERED.items():
            with subtests.test(what):
                conn.execute("SET session_replication_role = replica")
                conn.execute(change)
                found = findings(conn, story.event_id)
                assert found, "nothing was found"
                assert found[0][:2] == (batch_no, position), found
            conn.rollback()


def hash_anew(conn: psycopg.Connection[Any]) -> None:
    """The whole chain over the rows as they are now."""
    rows = conn.execute(
        "SELECT batch_no, kind, coalesce(arrival, ''), coalesce(buyer, ''), coalesce(request_id, ''),"
        " input::text, outcome, result::text FROM ledger ORDER BY batch_no, position"
    ).fetchall()
    heads = conn.execute(
        "SELECT batch_no, epoch, (extract(epoch FROM batch_time) * 1000000)::bigint, arrival, code_version"
        " FROM ledger_batch ORDER BY 1"
    ).fetchall()
    before = GENESIS
    for head in heads:
        digests = b"".join(row_digest(row) for batch, *row in rows if batch == head[0])
        batch_no, epoch, batch_time, arrival, code_version = head
        before = batch_hash(before, batch_no, epoch, batch_time, arrival, code_version, digests)
        conn.execute(
            "UPDATE ledger_batch SET row_digests = %s, hash = %s WHERE batch_no = %s",
            (digests, before, head[0]),
        )


def test_a_ledger_written_anew_with_right_hashes_is_named_by_what_it_decides(story):
    """Who can compute the chain anew still cannot make a decision that the function does not make."""
    with Kept.connect(story.database_url) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute(TAMPERED["a result is changed"][0])
        hash_anew(conn)
        found = findings(conn, story.event_id)
        assert found[0][:2] == (3, 1)
        assert "deciding again gives" in found[0].story
        conn.rollback()


def test_a_conflict_without_an_earlier_request_is_named(story):
    """Rewritten, with right hashes, by who would rather not say what was decided."""
    with Kept.connect(story.database_url) as conn:
        conn.execute("SET session_replication_role = replica")
        conn.execute(
            """UPDATE ledger SET outcome = 'conflict', result = '{"reason":"key_reused"}'"""
            " WHERE batch_no = 4 AND position = 1"
        )
        hash_anew(conn)
        assert (4, 1) in [found[:2] for found in findings(conn, story.event_id)]
        conn.rollback()


def test_an_unblock_of_what_no_fact_had_blocked_is_a_finding_of_its_batch(database_url, redis_url):
    with owner_of(database_url, redis_url) as owner:
        owner.query_nothing("UPDATE seat SET state = 'blocked' WHERE seat_no = 0")
        owner.reload()
        owner.unblock("A-1")
        owner.settle_down()
        assert owner.outcomes(entry("ann", "r1", seats("A-1"))) == ["held"]
        with psycopg.connect(database_url) as conn:
            found = findings(conn, owner.event_id)
        assert [finding[:2] for finding in found] == [(2, None)]
        assert "cannot be decided again: seat 0 is free, not blocked" in found[0].story


class Meanwhile(psycopg.Connection[Any]):
    """A connection before whose question for the cursor something happens, once."""

    happening: Any = None

    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        happening = type(self).happening
        if happening is not None and "FROM event_cursor" in str(query):
            type(self).happening = None
            happening()
        return super().execute(query, *args, **kwargs)


def test_a_sale_that_goes_on_while_its_ledger_is_read_is_no_finding(story):
    Meanwhile.happening = lambda: story.ask(entry("more", "r1", best(1)))
    with Meanwhile.connect(story.database_url) as conn:
        assert findings(conn, story.event_id) == []
    assert Meanwhile.happening is None


def test_an_answer_of_invalid_for_what_could_not_be_decided_is_decided_the_same_again(
    database_url, redis_url
):
    with owner_of(database_url, redis_url) as owner:
        owner.query_nothing("INSERT INTO hold_seat VALUES (%s, 2, 4711)", owner.event_id)
        owner.ask(*[entry(f"b{n}", "r1", seats(f"A-{n + 1}")) for n in range(5)])
        owner.append([b"not json", b'["ann","r1",{"seats":["\xff"]},"g1"]'])
        owner.loop.turn()
        change_event(database_url, EventState.CLOSED)
        owner.ask(entry("late", "r1", Want(areas={"floor": 1})))
        with psycopg.connect(database_url) as conn:
            assert findings(conn, owner.event_id) == []
