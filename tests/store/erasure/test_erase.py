"""Erasing a buyer: nothing of them is left, and every decision still comes out as it was given."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import psycopg
import pytest

from allocator.replay import Finding, verify
from store import audit
from store.erasure import statements
from store.erasure.erase import erase as erase_from
from store.erasure.words import PSEUDONYM, is_pseudonym
from store.errors import BadRequest, Conflicted, NotFound, Unavailable
from store.invariant import mismatches, read_capacity
from store.ledger import row_digest
from store.stream.forget import forget_requests
from store.stream.port import REQUEST
from store.stream.redis_stream import connect as connect_stream
from store.wire import decode_entry, stream_key
from store.words import Arrival, EventState, Want
from tests.allocator.house import best, change_event, check_laws, entry, owner_of, plan_of, seats
from tests.allocator.sale import Sale
from tests.allocator.test_tours import Dates

SAID = audit.said("Olga", "she asked for it")
ANNA = "änna'quote-7f3a"
MAIL = "Anna.K@Example.com"

EVERYWHERE = """
SELECT oid::regclass::text FROM pg_class
 WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


@pytest.fixture
def conn(database_url):
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(database_url, redis_url):
    with owner_of(database_url, redis_url, plan_of(2, 4, 10)) as owner:
        yield owner


@pytest.fixture
def erase(redis_url):
    """Erases from this test's database and streams."""

    def run(conn, **whom):
        return erase_from(conn, SAID, redis_url, **whom)

    return run


def findings(conn, event_id):
    with conn.transaction():
        pass
    conn.autocommit = False
    try:
        return [step for step in verify(conn, event_id) if isinstance(step, Finding)]
    finally:
        conn.rollback()
        conn.autocommit = True


def close(owner):
    """Nothing runs any more, and the allocator knows it."""
    for buyer, hold in owner.query(
        "SELECT buyer, hold_id FROM hold WHERE state = 'active' AND event_id = %s", owner.event_id
    ):
        owner.release(buyer, hold)
    change_event(owner.database_url, EventState.CLOSED, owner.slug)
    owner.poke()
    owner.loop.turn()


def everything_of(conn, words):
    """Table → rows in which one of these stands, in any letters."""
    found = {}
    for (table,) in conn.execute(EVERYWHERE).fetchall():
        text = f"SELECT count(*) FROM {table} AS t WHERE t::text ILIKE ANY (%s)"
        forms = {form for word in words for form in (word, json.dumps(word)[1:-1])}
        count = conn.execute(text, ([f"%{form}%".replace("\\", "\\\\") for form in forms],)).fetchone()[0]
        if count:
            found[table] = count
    return found


def story(owner):
    """Anna asks, conflicts, waits, is offered, buys, is sold something by hand; others do as well."""
    owner.ask(entry(ANNA, "r1", seats("A-1")), entry("bob", "r1", seats("A-1")))
    owner.ask(entry(ANNA, "r1", seats("A-2")))  # a conflict
    owner.confirm(ANNA)
    owner.ask(entry("bob", "r2", best(4)), entry("eve", "r1", best(3)))
    owner.ask(entry(ANNA, "r2", Want(best=best(2).best, waitlist=True)))
    owner.release("eve")
    owner.poke()
    owner.loop.turn()
    owner.confirm(ANNA)
    sold = owner.sell(ANNA, places=2)
    owner.poke()
    owner.loop.turn()
    owner.take_back(sold, places=1)
    owner.poke()
    owner.loop.turn()


def around(conn, event):
    """What else is kept of her: a place, a wish, a payment, mails, what others are told, calls with keys."""
    first = "SELECT min(hold_id) FROM hold WHERE buyer = %s AND state = 'paid'"
    order = conn.execute(first, (ANNA,)).fetchone()[0]
    conn.execute(
        "INSERT INTO place (event_id, buyer, in_draw, state, ended_at, email) VALUES"
        " (%s, %s, true, 'finished', now(), %s)",
        (event, ANNA, MAIL),
    )
    conn.execute("INSERT INTO ballot_wish SELECT id, event_id, buyer, '{}' FROM place")
    conn.execute(
        "INSERT INTO payment (event_id, hold_id, order_id, buyer, email, provider, intent, checkout, state,"
        " currency, amount_minor, fee_minor, tax_minor, charged, quantity, seats, succeeded_at, intent_ended)"
        """ VALUES (%s, %s, %s, %s, %s, 'stripe', 'pi_1', '{"url": "secret"}', 'succeeded', 'EUR', 1, 0, 0,"""
        " '{}', 1, '{}', now(), true)",
        (event, order, order, ANNA, MAIL),
    )
    body = json.dumps({"order": str(order), "buyer": ANNA})
    conn.execute(
        "INSERT INTO mail (event_id, address, kind, body, state, ended_at) VALUES (%s, %s, 'order.paid', %s,"
        " 'sent', now()), (%s, 'other@example.com', 'order.paid', '{}', 'sent', now())",
        (event, MAIL, body, event),
    )
    conn.execute(  # it was her turn while her place had another address
        "INSERT INTO mail (event_id, address, kind, body, state, ended_at)"
        " SELECT event_id, 'before.' || email, 'place.admitted', json_build_object('place', id), 'sent',"
        " now() FROM place"
    )
    conn.execute(
        "INSERT INTO delivery (subscriber_id, outbox_id, event_id, kind, payload, attempts)"
        " VALUES (1, 1, %s, 'order.paid', %s, 1)",
        (event, body),
    )
    conn.execute(
        "INSERT INTO idempotency_key (scope, buyer, fingerprint, owner, status, head, body)"
        " VALUES ('a', %s, 'f', 1, 200, '[]', 'x'), ('b', NULL, 'f', 1, 200, '[]', %s), ('c', 'bob', 'f', 1,"
        " 200, '[]', 'x')",
        (ANNA, json.dumps({"buyer": ANNA}, ensure_ascii=False).encode()),
    )
    conn.execute(
        "INSERT INTO ticket (event_id, order_id, area_no, number, holder) VALUES (%s, 77, -1, 3, %s)",
        (event, ANNA),
    )


def test_nothing_of_a_buyer_is_left_anywhere_and_every_decision_stands(conn, owner, erase):
    story(owner)
    close(owner)
    around(conn, owner.event_id)
    before = everything_of(conn, [ANNA, MAIL])
    assert before.keys() >= {
        "ledger", "hold", "waiting", "place", "ballot_wish", "payment", "mail", "delivery", "outbox", "audit",
        "idempotency_key", "ticket",
    }  # fmt: skip
    done = erase(conn, buyer=ANNA)
    assert (done.events, done.buyers) == ([owner.slug], 1)
    assert done.rows["ledger"] == before["ledger"]
    assert everything_of(conn, [ANNA, MAIL]) == {}
    assert findings(conn, owner.event_id) == []
    check_laws(owner.database_url, owner.event_id)
    [(pseudonym,)] = conn.execute("SELECT DISTINCT buyer FROM place").fetchall()
    assert is_pseudonym(pseudonym)
    stays = before.keys() - {"mail", "idempotency_key"} | {"buyer_erasure"}
    assert everything_of(conn, [pseudonym]).keys() == stays


def test_others_are_as_they_were(conn, owner, erase):
    story(owner)
    close(owner)
    around(conn, owner.event_id)
    before = everything_of(conn, ["bob"])
    erase(conn, buyer=ANNA)
    assert everything_of(conn, ["bob"]) == before
    assert conn.execute("SELECT address FROM mail").fetchall() == [("other@example.com",)]


def test_who_erased_it_and_why_is_in_the_audit_and_nothing_of_whom(conn, owner, erase):
    story(owner)
    close(owner)
    erase(conn, buyer=ANNA)
    row = audit.read(conn, owner.event_id)[0]
    assert (row.who, row.why, row.what["change"]) == ("Olga", "she asked for it", "erase buyer")
    assert PSEUDONYM.fullmatch(row.what["pseudonym"])
    assert conn.execute("SELECT pseudonym, audit_id FROM buyer_erasure").fetchall() == [
        (row.what["pseudonym"], row.id)
    ]


def test_by_mail_address_in_whatever_letters_whoever_gave_it_is_erased(conn, owner, erase):
    story(owner)
    close(owner)
    around(conn, owner.event_id)
    done = erase(conn, mail=MAIL.lower())
    assert done.buyers == 1
    assert everything_of(conn, [ANNA, MAIL]) == {}


def test_who_erased_mails_of_nobody_else_is_in_the_audit(conn, owner, erase):
    mail = "INSERT INTO mail (event_id, address, kind, body) VALUES (%s, %s, 'place.admitted', '{}')"
    conn.execute(mail, (owner.event_id, MAIL))
    done = erase(conn, mail=MAIL.lower())
    assert (done.events, done.buyers, done.rows) == ([], 0, {"mail": 1})
    row = audit.read_all(conn)[0]
    assert (row.who, row.event, row.what) == ("Olga", None, {"change": "erase mails", "rows": {"mail": 1}})


def test_a_buyer_who_is_called_like_a_state_changes_nothing_that_is_told_of_states(conn, owner, erase):
    owner.ask(entry("open", "r1", seats("A-1")))
    close(owner)
    told = {"change": "state", "from": "open", "to": "closed"}
    audit.write(conn, owner.event_id, SAID, told)
    erase(conn, buyer="open")
    assert told in [row.what for row in audit.read(conn, owner.event_id)]
    assert findings(conn, owner.event_id) == []


def test_several_are_erased_one_after_the_other_also_of_the_same_rows(conn, owner, erase):
    story(owner)
    close(owner)
    for buyer in (ANNA, "bob", "eve"):
        erase(conn, buyer=buyer)
    assert findings(conn, owner.event_id) == []
    assert conn.execute("SELECT count(*) FROM ledger WHERE buyer NOT LIKE 'erased:%'").fetchone() == (0,)


def test_again_there_is_nobody_to_erase(conn, owner, erase):
    story(owner)
    close(owner)
    erase(conn, buyer=ANNA)
    for gone in ({"buyer": ANNA}, {"mail": MAIL}):
        with pytest.raises(NotFound) as refused:
            erase(conn, **gone)
        assert refused.value.code == "unknown_buyer"


def test_while_a_sale_runs_nothing_is_erased(conn, owner, erase):
    story(owner)
    before = everything_of(conn, [ANNA])
    with pytest.raises(Conflicted) as refused:
        erase(conn, buyer=ANNA)
    assert refused.value.code == "sale_running"
    assert owner.slug in str(refused.value)
    assert everything_of(conn, [ANNA]) == before


@pytest.mark.parametrize(
    "busy",
    [
        "UPDATE payment SET state = 'refund_due', refund_due_minor = 1",
        "UPDATE payment SET state = 'created', succeeded_at = NULL, order_id = NULL, intent_ended = false",
        "INSERT INTO fact (event_id, kind) VALUES (%(event)s, 'policy')",
        "INSERT INTO called_off (event_id, who, why) VALUES (%(event)s, 'Olga', 'rain')",
    ],
)
def test_what_somebody_is_still_to_do_for_the_buyer_is_waited_for(conn, owner, busy, erase):
    story(owner)
    close(owner)
    around(conn, owner.event_id)
    conn.execute(busy, {"event": owner.event_id})
    with pytest.raises(Conflicted) as refused:
        erase(conn, buyer=ANNA)
    assert refused.value.code == "not_at_rest"
    assert everything_of(conn, [ANNA])["place"] == 1


@pytest.mark.parametrize(
    "given", [{}, {"buyer": "a", "mail": "b@c.de"}, {"buyer": ""}, {"buyer": "x" * 256}, {"mail": "nobody"}]
)
def test_what_names_nobody_is_refused(conn, given, erase):
    with pytest.raises(BadRequest) as refused:
        erase(conn, **given)
    assert refused.value.code == "invalid_buyer"


def test_an_order_of_somebody_erased_can_still_be_taken_back(conn, owner, erase):
    story(owner)
    close(owner)
    erase(conn, buyer=ANNA)
    [(order, buyer)] = conn.execute(
        "SELECT hold_id, buyer FROM hold WHERE state = 'paid' AND request_id = 'r1'"
    ).fetchall()
    assert is_pseudonym(buyer)
    owner.take_back(order)
    owner.poke()
    owner.loop.turn()
    assert findings(conn, owner.event_id) == []
    check_laws(owner.database_url, owner.event_id)


@pytest.mark.parametrize("seed", range(3))
def test_after_a_random_sale_all_buyers_are_erased_and_it_is_decided_the_same(conn, owner, seed, erase):
    sale = Sale(owner, seed)
    for _ in sale.steps(60):
        pass
    close(owner)
    hashed = conn.execute("SELECT batch_no, hash FROM ledger_batch ORDER BY 1").fetchall()
    for (buyer,) in conn.execute("SELECT DISTINCT buyer FROM hold ORDER BY 1").fetchall():
        erase(conn, buyer=buyer)
    assert findings(conn, owner.event_id) == []
    assert conn.execute("SELECT batch_no, hash FROM ledger_batch ORDER BY 1").fetchall() == hashed
    assert mismatches(conn, owner.event_id, read_capacity(conn, owner.event_id)) == []
    check_laws(owner.database_url, owner.event_id)


def test_what_a_tour_counted_is_erased_once_all_its_dates_are_closed(conn, database_url, redis_url, erase):
    dates = Dates(database_url, redis_url)
    try:
        one, other = dates.first, dates.second
        one.ask(entry(ANNA, "r1", best(2)))
        other.ask(entry(ANNA, "r1", best(2)))
        close(one)
        with pytest.raises(Conflicted) as refused:
            erase(conn, buyer=ANNA)
        assert refused.value.code == "sale_running"
        close(other)
        before = everything_of(conn, [ANNA])
        assert before.keys() == {"ledger", "hold", "tour_buyer"}
        erase(conn, buyer=ANNA)
        assert everything_of(conn, [ANNA]) == {}
        assert findings(conn, one.event_id) == findings(conn, other.event_id) == []
    finally:
        dates.close()


# the ledger's guard


SAY_SO = "SELECT set_config('onsale.erasing', pg_current_xact_id()::text, true)"
ANONYMISE = "UPDATE ledger SET buyer = 'erased:00000000000000000000000000000000' WHERE kind = 'request'"


def must_be_refused(conn, *statements):
    """In one transaction, the last of them."""

    def run():
        with conn.transaction():
            for statement in statements:
                conn.execute(statement)

    with pytest.raises(psycopg.errors.RestrictViolation):
        run()


def test_the_ledger_changes_in_no_other_way(conn, owner, erase):
    story(owner)
    close(owner)
    erase(conn, buyer=ANNA)
    must_be_refused(conn, ANONYMISE)
    must_be_refused(conn, "SELECT set_config('onsale.erasing', '1', true)", ANONYMISE)
    must_be_refused(conn, SAY_SO, ANONYMISE)  # some rows are without a record
    recorded = "(batch_no, position) IN (SELECT batch_no, position FROM ledger_erasure) AND kind = 'request'"
    for change in (
        "outcome = 'held'", "result = '{}'", "arrival = '1-1'", "request_id = 'x'", "buyer = 'bob'",
        "input = '{}'", "batch_no = 99", "kind = 'fact'",
    ):  # fmt: skip
        must_be_refused(conn, SAY_SO, f"UPDATE ledger SET {change} WHERE {recorded}")
    for change in ("who = 'x'", "why = 'x'", "what = '{}'", "event_id = 9"):
        must_be_refused(conn, SAY_SO, f"UPDATE audit SET {change}")
    for table in ("ledger", "audit", "ledger_erasure", "buyer_erasure"):
        must_be_refused(conn, SAY_SO, f"DELETE FROM {table}")
        must_be_refused(conn, SAY_SO, f"TRUNCATE {table}")
    must_be_refused(conn, SAY_SO, "UPDATE ledger_erasure SET digest = 'x'")
    must_be_refused(conn, SAY_SO, "UPDATE buyer_erasure SET event_id = 9")
    assert findings(conn, owner.event_id) == []


def test_the_ledger_of_a_running_sale_changes_in_no_way(conn, owner):
    story(owner)
    records = """
        INSERT INTO ledger_erasure (event_id, batch_no, position, digest, audit_id)
        SELECT event_id, batch_no, position, 'x', 1 FROM ledger"""
    must_be_refused(conn, SAY_SO, records, ANONYMISE)


def test_a_row_that_was_changed_after_it_was_erased_is_named(conn, owner, erase):
    story(owner)
    close(owner)
    erase(conn, buyer=ANNA)
    changed = (
        "UPDATE ledger SET request_id = 'other' WHERE starts_with(buyer, 'erased:') AND request_id = 'r2'"
    )
    owner.query_nothing(changed)
    found = findings(conn, owner.event_id)
    assert "was changed after it was written" in found[0].story


def test_a_record_that_hides_another_change_is_named(conn, owner):
    """Who writes a record of a row that names no pseudonym does not get away with it."""
    story(owner)
    close(owner)
    [(batch, position, *row)] = conn.execute(
        "SELECT batch_no, position, kind, arrival, 'max', request_id, input::text, outcome, result::text"
        "  FROM ledger WHERE buyer = 'bob' AND request_id = 'r1'"
    ).fetchall()
    owner.query_nothing("UPDATE ledger SET buyer = 'max' WHERE buyer = 'bob' AND request_id = 'r1'")
    values = {"event": owner.event_id, "audit": 1, "batches": [batch], "positions": [position]}
    conn.execute(statements.KEEP_DIGESTS, values | {"digests": [row_digest(row)]})
    assert "names no pseudonym" in findings(conn, owner.event_id)[0].story


def test_of_a_stream_the_buyers_decided_requests_go_and_nothing_else(redis_url):
    with contextlib.closing(connect_stream(redis_url)) as connected:
        client: Any = connected
        key = stream_key("gala")
        ids = [
            client.xadd(key, {REQUEST: entry(buyer, f"r{number}", best(1))})
            for number, buyer in enumerate([ANNA, "bob", ANNA, "bob", ANNA])
        ]
        client.xadd(key, {b"p": b"1"})
        assert forget_requests(redis_url, "gala", ANNA, Arrival(ids[3].decode())) == 2
        left = [decode_entry(fields[REQUEST]).buyer for _, fields in client.xrange(key) if REQUEST in fields]
        assert left == ["bob", "bob", ANNA], "the last is not decided"
        assert client.xlen(key) == 4
        assert forget_requests(redis_url, "nowhere", ANNA, Arrival("9-9")) == 0


def test_while_the_stream_does_not_answer_nothing_is_erased(conn, owner):
    story(owner)
    close(owner)
    before = everything_of(conn, [ANNA])
    with pytest.raises(Unavailable):
        erase_from(conn, SAID, "redis://127.0.0.1:1", buyer=ANNA)
    assert everything_of(conn, [ANNA]) == before
