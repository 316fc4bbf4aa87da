"""A payment is made for what its hold has, and an intent that was named late still ends."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from store import lookups
from store.payments import begin, ending
from store.plan import encode
from store.prices import PlanMove
from tests.store.payments.paying import PRICES, begun, money_is_answered_for, notice, read, run, told
from tests.store.payments.test_settle import event  # noqa: F401
from tests.store.test_holds import PLAN, conn, hold  # noqa: F401
from tests.store.test_holds import event as free_event  # noqa: F401

NO_DECISION = "SET session_replication_role = replica; DELETE FROM ledger; RESET session_replication_role"


@pytest.mark.parametrize("lost", [NO_DECISION, "DELETE FROM hold_seat", "DELETE FROM hold_area"])
def test_a_hold_that_seems_to_have_less_than_it_counts_is_not_sold_for_less(conn, event, lost):  # noqa: F811
    hold(conn, event)
    conn.execute(lost)
    with pytest.raises(AssertionError, match="seats and places name it"):
        begun(conn, event)
    assert conn.execute("SELECT count(*) FROM payment").fetchone() == (0,)
    assert conn.execute("SELECT state FROM hold").fetchone() == ("active",)


@pytest.mark.parametrize("known", [True, False])
def test_a_plan_that_is_known_is_not_read_again_where_seats_were_moved(conn, event, monkeypatch, known):  # noqa: F811
    async def moves(connection, event_id):
        return [PlanMove("1", [], [])]

    async def text(connection, event_id):
        read_texts.append(event_id)
        return encode(PLAN), ""

    read_texts: list[int] = []
    monkeypatch.setattr(lookups, "plan_moves", moves)
    monkeypatch.setattr(lookups, "plan_text", text)
    sha256 = run(conn, lambda own: lookups.plan_sha256(own, event))
    hold(conn, event)
    begun(conn, event, prices=replace(PRICES, sha256=sha256 if known else "another"))
    assert read_texts == ([] if known else [event])


def test_an_intent_that_is_named_when_nobody_waits_for_it_any_more_is_ended(conn, event):  # noqa: F811
    hold(conn, event)
    made = begun(conn, event)
    conn.execute("UPDATE payment SET intent = NULL, state = 'canceled', created_at = '2000-01-01'")
    run(conn, ending.forget_unmade)
    assert run(conn, lambda own: ending.to_end(own, 0, 9)) == []
    for _ in range(2):
        run(conn, lambda own: begin.attach(own, made.id, "pi_1", {"url": "http://pay"}))
        assert [one.intent for one in run(conn, lambda own: ending.to_end(own, 0, 9))] == ["pi_1"]
    run(conn, lambda own: ending.ended(own, made.id))
    run(conn, lambda own: begin.attach(own, made.id, "pi_1", {"url": "http://pay"}))
    assert run(conn, lambda own: ending.to_end(own, 0, 9)) == []


def test_places_of_an_area_that_is_not_there_are_not_sold(conn, event):  # noqa: F811
    hold(conn, event)
    made = begun(conn, event)
    conn.execute("DELETE FROM area")
    [failed] = told(conn, notice(made))
    assert "contradicts itself" in str(failed)
    assert read(conn, made).state == "created"
    assert money_is_answered_for(conn)
