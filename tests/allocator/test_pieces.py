"""A batch whose rows are sent in pieces is one batch; and a conflict is known by its arrival."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from allocator import loop
from allocator.replay import Finding, verify
from store.words import Arrival
from tests.allocator.house import SLUG, Owner, best, check_laws, entry, open_event, owner_of, plan_of, seats


@pytest.fixture
def owner(database_url: str, redis_url: str) -> Iterator[Owner]:
    with owner_of(database_url, redis_url) as made:
        yield made


def test_a_batch_in_pieces_is_in_the_ledger_once_and_verifies(owner, monkeypatch):
    monkeypatch.setattr(loop, "PIECE_SIZE", 4)
    owner.ask(entry("eve", "r1", seats("B-1")))
    owner.release("eve")
    before = owner.memory.batch_no
    buyers = [f"b{n}" for n in range(11)]
    assert owner.outcomes(*[entry(buyer, "r1", best(1)) for buyer in buyers]) == ["held"] * 11
    rows = owner.query(
        "SELECT batch_no, position, kind, buyer FROM ledger WHERE batch_no > %s ORDER BY 1, 2", before
    )
    fact = (before + 1, 0, "fact", "")
    asked = [(before + 1, n + 1, "request", buyer) for n, buyer in enumerate(buyers)]
    assert [(*row[:3], row[3] or "") for row in rows] == [fact, *asked]
    check_laws(owner.database_url, owner.event_id)
    with psycopg.connect(owner.database_url) as conn:
        assert [step for step in verify(conn, owner.event_id) if isinstance(step, Finding)] == []


def test_a_conflict_is_known_by_its_arrival_in_its_own_event(owner, database_url, redis_url):
    first, conflict = owner.append(
        [entry("ann", "r1", seats("A-1")), entry("ann", "r1", seats("A-2"))],
    )
    owner.loop.turn()
    assert owner.truth.conflicts([first, conflict, Arrival("1-1")]) == {conflict}
    other = Owner(database_url, redis_url, open_event(database_url, plan_of(), f"{SLUG}-2"), f"{SLUG}-2")
    assert other.truth.conflicts([conflict]) == set()
    other.close()
